"""All private parts of PyTorch that the backend stands on, and a check that they are there.

Tested on torch 2.13.0 (CPU). Versions before it have the names, but not what the backend stands on: under
2.9.1 the rules were missing in the key of the cache on disk, so that two processes shared gradients. They are
refused.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from surrogate import Hook, IncompatibleFrameworkError, check_hooks

TESTED = "2.13.0"
#: The oldest release in which everything was run and right.
OLDEST = (2, 13)


#: Needed at once.
HOOKS = (
    Hook(
        "torch.library:get_kernel",
        "the native autograd kernel of an op, kept before ours is put over it (public)",
    ),
    Hook("torch._C:_SafeKernelFunction.call_boxed", "call that kernel"),
    Hook("torch._C:_AutoDispatchBelowAutograd", "run an op, or a mask, below the Autograd key"),
    Hook("torch._C:_after_autograd_keyset", "the keys that an op is redispatched to below Autograd"),
    Hook("torch._C:_are_functorch_transforms_active", "whether a torch.func transform is on"),
    Hook("torch._C:_is_fwd_grad_enabled", "whether forward mode is on, to restore it for outer transforms"),
    Hook("torch._C:_current_graph_task_id", "whether a backward pass is running in this thread"),
    Hook("torch._C:_is_key_in_tls", "whether an engine thread was told the caller's context"),
    Hook("torch._C:_get_obj_in_tls", "the caller's context on an engine thread"),
    Hook("torch._ops:OpOverload.redispatch", "run an op's next kernel"),
    Hook("torch:ops.aten.sign.default._dispatch_cache", "forget kernels that the compiler has looked up"),
    Hook("torch._C:_VariableFunctions._unpack_dual", "primal and tangent of a dual tensor"),
    Hook("torch.autograd.function:_SingleLevelFunction", "an autograd node inside one transform's level"),
    Hook("torch.autograd.forward_ad:_current_level", "whether forward mode is on at all"),
    Hook("torch._C:_set_grad_enabled", "turn reverse mode on or off for a call"),
    Hook("torch._C:_set_fwd_grad_enabled", "turn forward mode on or off for a call"),
    Hook("torch.autograd.graph:_engine_run_backward", "the frame from which native backward nodes call ops"),
    Hook("torch._functorch.utils:enable_single_level_autograd_function", "allow that node under torch.func"),
    Hook("torch._C:_functorch.is_functorch_wrapped_tensor", "whether a tensor carries a derivative"),
    Hook("torch._C:_functorch.is_batchedtensor", "the same"),
    Hook("torch._C:_functorch.get_unwrapped", "the same, at the next level"),
    Hook("torch._C:_functorch.maybe_get_level", "which transform has wrapped a tensor"),
    Hook("torch._C:_functorch.maybe_get_bdim", "along which axis it is mapped"),
    Hook("torch._C:_functorch._add_batch_dim", "the same along another axis"),
    Hook("torch._C:_functorch.current_level", "the innermost transform"),
    Hook("torch._C:_functorch.peek_interpreter_stack", "of which kind it is"),
    Hook("torch._C:_functorch.TransformType.Vmap", "that it is vmap"),
    Hook("torch._C:_functorch.unwrap_if_dead", "a tensor of a transform that has ended, as it is outside"),
    Hook("torch._C:_len_torch_dispatch_stack", "whether somebody looks at every op: then no blocks"),
    Hook("torch._C:_dispatch_keys", "whether a tensor is nothing but numbers, with no wrapper around it"),
    Hook("torch._C:DispatchKeySet.raw_repr", "the keys of such a one"),
    Hook("torch._C:DispatchKey", "their names"),
    Hook("torch._C:_dispatch_get_all_op_names", "the operators that there are, for the nearest name"),
    Hook("torch._C:_dispatch_has_kernel", "whether an operator is one, or TorchScript's alone"),
    Hook("torch._C:_dispatch_has_kernel_for_dispatch_key", "whether an operator is composed of others"),
    Hook("torch.autograd.forward_ad:_set_fwd_grad_enabled", "turn forward mode on or off for a block"),
    Hook("torch.utils._python_dispatch:TorchDispatchMode", "every op of a program, for the audit (public)"),
    Hook("torch.utils._pytree:tree_flatten", "the tensors in arguments of any structure"),
    Hook("torch.utils._pytree:tree_unflatten", "the same, back"),
    Hook("torch.utils._pytree:tree_map", "the same, one by one"),
    Hook("torch._C:_parse_dispatch_key", "the dispatch key of ops of a boolean with an origin, by name"),
    Hook("torch._C:_IncludeDispatchKeyGuard", "let ops pass that key"),
    Hook("torch._C:_ExcludeDispatchKeyGuard", "let them pass it by"),
    Hook("torch._C:DisableTorchFunctionSubclass", "see such a boolean as the tensor it is"),
    Hook("torch:Tensor._make_subclass", "make one without copying"),
    Hook("torch:Tensor._base", "what a view is of"),
    Hook("torch:Tensor._is_view", "whether an op may change the tensor in its own memory"),
    Hook("torch:ops.aten.is_non_overlapping_and_dense", "whether a tensor can be walked through as one line"),
    Hook("torch._subclasses:FakeTensor", "a compiler's stand-in for a tensor"),
    Hook("torch._subclasses.functional_tensor:FunctionalTensor", "another"),
    Hook("torch._guards:TracingContext", "whether torch.compile is tracing, and its list of guards"),
    Hook("torch.fx.traceback:get_current_meta", "what the compiler keeps with the op it traces (public)"),
    Hook("torch._guards:Guard", "a guard of a compiled frame"),
    Hook("torch._guards:CompileContext", "whether it is the compiler that asks a guard"),
    Hook("torch._C:_dynamo.eval_frame.set_code_exec_strategy", "keep the compiler out of our kernels"),
    Hook("torch._C:_dynamo.eval_frame._FrameExecStrategy", "the same"),
    Hook("torch._C:_dynamo.guards.RootGuardManager.add_lambda_guard", "where a guard of a frame is put"),
    Hook("torch.compiler.config:cache_key_tag", "part of the key of the caches on disk (public)"),
    Hook(
        "torch.utils.checkpoint:CheckpointFunction.forward", "where a reentrant checkpoint takes the function"
    ),
    Hook("torch.utils.checkpoint:CheckpointFunction.backward", "where it runs the function again"),
    Hook("torch.utils.checkpoint:_CheckpointFrame.__init__", "where the other kind does"),
    Hook("torch.utils.checkpoint:_CheckpointFrame", "its attribute recompute_fn, the function that it keeps"),
    Hook("torch:_higher_order_ops", "where the operators are that run functions again: cond, map, ..."),
    Hook("torch.nn:Module._call_impl", "the module of a model whose forward runs, for captures"),
    Hook("torch.fx:Interpreter.run_node", "the lines that a compiled op comes from (public)"),
    Hook("torch._C:_jit_set_profiling_mode", "keep TorchScript from differentiating by itself"),
    Hook("torch._C:ScriptMethod._debug_flush_compilation_cache", "the same for modules that ran before"),
)

#: Needed when torch.compile traces; importing them loads the compiler.
COMPILER_HOOKS = (
    Hook("torch._dynamo.callback:callback_handler", "be told that no function is being compiled any more"),
    Hook("torch._dynamo.source:GlobalStateSource", "the source of a guard that reads no variable"),
    Hook("torch._C:_dynamo.eval_frame._get_total_cache_entry_count", "how often a function was compiled"),
    Hook("torch._dynamo.config:recompile_limit", "how often it may be (public)"),
    Hook("torch._dynamo.guards:GuardBuilder", "its attribute f_code, the function whose guards are made"),
    Hook(
        "torch._dynamo.config:nontraceable_tensor_subclasses",
        "eager values with an origin stay out of graphs",
    ),
    Hook(
        "torch._dynamo.variables.builder:VariableBuilder._type_dispatch",
        "what the compiler makes of an override",
    ),
    Hook("torch._dynamo.variables.builder:VariableBuilder._id_dispatch", "and of the call that makes one"),
    Hook("torch._dynamo.variables.builder:VariableBuilder", "a learned parameter as an input of a graph"),
    Hook("torch._dynamo.source:GlobalSource", "where a compiled frame finds it"),
    Hook("torch._dynamo.output_graph:OutputGraph.install_global_by_id", "the name under which it does"),
    Hook(
        "torch._dynamo.output_graph:SubgraphTracer.maybe_lift_tracked_freevar_to_input",
        "the same in a graph inside of another",
    ),
    Hook("torch._dynamo.symbolic_convert:tls", "the compiler that is at work in this thread"),
    Hook("torch._dynamo.source:AttrSource", "what a compiled frame looks at in an override"),
    Hook("torch._dynamo.guards:GuardBuilder.EQUALS_MATCH", "the guard of that"),
    Hook("torch._dynamo.guards:install_guard", "how it is put"),
    Hook("torch._dynamo.variables.base:VariableTracker", "a stand-in of ours in the compiler"),
    Hook("torch._dynamo.variables.user_defined:UserDefinedObjectVariable", "the stand-in of a gradient"),
    Hook("torch._dynamo.variables.tensor:TensorVariable", "a tensor that is a gradient's parameter"),
    Hook(
        "torch._dynamo.variables.ctx_manager:ContextWrappingVariable",
        "a context manager that acts while a graph is traced",
    ),
    Hook(
        "torch._dynamo.symbolic_convert:InstructionTranslatorBase.step",
        "the user's frame while the compiler reads its bytecode",
    ),
)

#: Needed when torch.compile traces after a whole function was overridden.
FUNCTION_HOOKS = (
    Hook(
        "torch._dynamo.symbolic_convert:InliningInstructionTranslator.build_inline_tracer",
        "which functions a compiled frame has read",
    ),
)


def probe(hooks: Iterable[Hook] = HOOKS) -> None:
    """Check that every hook is there.

    Raises:
        IncompatibleFrameworkError: one is missing; says which, what it is for and what was tested.
    """
    check_hooks("torch", hooks, f"torch {TESTED}")


def refuse_older(version: str = torch.__version__) -> None:
    """Check that this release is one in which the backend is right.

    Raises:
        IncompatibleFrameworkError: it is older; says what was tested.
    """
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise IncompatibleFrameworkError(
            f"torch {version} is too old for the backend 'torch': compiled code on disk could carry the "
            f"gradients of other rules. It was tested with torch {TESTED}. "
            'Install it with: pip install "torch>=2.13"'
        )


refuse_older()
probe()
