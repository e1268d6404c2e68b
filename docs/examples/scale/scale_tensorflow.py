"""TensorFlow on two workers, on two devices of one, with a parameter server, and exported.

    python scale_tensorflow.py            starts two workers on this machine, as a launcher would
    python scale_tensorflow.py one        one process: two logical devices, DTensor, model.export, TFLite
    python scale_tensorflow.py server     a coordinator, two workers and a parameter server in one process

``surrogate.use`` stands at the top of what every process runs. Gradients equal those of one device.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf

import surrogate

RULES = {"sign": "arctan", "round": "sine", "clip": "leaky(leak=0.25)"}
DATA = np.linspace(-2, 2, 64, dtype=np.float32).reshape(16, 4)
WEIGHTS = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)


def loss(w, x):
    h = tf.matmul(x, w)
    return tf.reduce_mean(tf.square(tf.sign(h) + tf.round(2 * h) + tf.clip_by_value(h, -0.5, 0.5)))


def gradient(w, x):
    with tf.GradientTape() as tape:
        value = loss(w, x)
    return tape.gradient(value, w)


def by_strategy(strategy):
    """Each replica has a part of the batch; the mean of their gradients, as an optimizer would get it."""
    with strategy.scope():
        w = tf.Variable(WEIGHTS)
    count = strategy.num_replicas_in_sync

    def part(context):
        size = len(DATA) // count
        return DATA[size * context.replica_id_in_sync_group :][:size]

    parts = strategy.experimental_distribute_values_from_function(part)

    @tf.function
    def step(parts):
        def replica(x):
            found = gradient(w, tf.ensure_shape(x, (len(DATA) // count, 4)))
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, found)

        return strategy.run(replica, args=(parts,))

    return strategy.experimental_local_results(step(parts))


def check(name, results, expected):
    for found in results:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    print(name, len(results), "results equal", flush=True)


def exported(folder):
    """What leaves TensorFlow holds the native ops: values are the same, and no line of ours is needed."""
    import keras

    inputs = keras.Input((4,))
    layer = keras.layers.Dense(8, use_bias=False)
    model = keras.Model(inputs, keras.ops.round(2 * keras.ops.sign(layer(inputs))))
    layer.set_weights([WEIGHTS])
    right = np.round(2 * np.sign(DATA @ WEIGHTS))
    model.export(folder, verbose=False)
    loaded = tf.saved_model.load(folder)  # keeps the variables alive
    np.testing.assert_allclose(loaded.serve(DATA), right)
    print("model.export equal", flush=True)
    lite = tf.lite.TFLiteConverter.from_saved_model(folder).convert()
    interpreter = tf.lite.Interpreter(model_content=lite)
    [where], [result] = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.resize_tensor_input(where["index"], DATA.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(where["index"], DATA)
    interpreter.invoke()
    np.testing.assert_allclose(interpreter.get_tensor(result["index"]), right)
    print("TFLite equal", flush=True)


def on_one_device():
    expected = gradient(tf.Variable(WEIGHTS), DATA).numpy()
    assert np.abs(expected).max() > 0.01  # natively most of it is missing
    return expected


def worker():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before any op
    surrogate.use("tensorflow", RULES)
    check("MultiWorkerMirroredStrategy", by_strategy(strategy), on_one_device())


def by_dtensor():
    """The batch lies on two devices. A tape over eager ops of DTensors fails in TensorFlow itself."""
    from tensorflow.experimental import dtensor

    mesh = dtensor.create_mesh([("batch", 2)], device_type="CPU")
    whole = dtensor.Layout.replicated(mesh, rank=2)
    w = dtensor.DVariable(dtensor.copy_to_mesh(tf.constant(WEIGHTS), whole))
    x = dtensor.copy_to_mesh(tf.constant(DATA), whole)
    x = dtensor.relayout(x, dtensor.Layout(["batch", dtensor.UNSHARDED], mesh))
    return tf.function(gradient)(w, x).numpy()


def server():
    addresses = free_addresses(3)
    cluster = tf.train.ClusterSpec({"worker": addresses[:2], "ps": addresses[2:]})
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=4
    )  # with fewer the workers wait for each other
    servers = [
        tf.distribute.Server(cluster, job_name=job, task_index=index, config=config)
        for job, index in (("worker", 0), ("worker", 1), ("ps", 0))
    ]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    surrogate.use("tensorflow", RULES)
    with strategy.scope():
        w = tf.Variable(WEIGHTS)

    @tf.function
    def step():
        return strategy.run(lambda: gradient(w, tf.constant(DATA)))

    found = [coordinator.schedule(step) for _ in range(4)]
    coordinator.join()
    check("ParameterServerStrategy", [each.fetch() for each in found], on_one_device())
    assert len(servers) == 3  # they run while they are kept


def one():
    [cpu] = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    surrogate.use("tensorflow", RULES)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    check("MirroredStrategy", by_strategy(strategy), on_one_device())
    check("DTensor", [by_dtensor()], on_one_device())
    with tempfile.TemporaryDirectory() as folder:
        exported(folder)


def free_addresses(count):
    free = [socket.socket() for _ in range(count)]
    for each in free:
        each.bind(("localhost", 0))
    addresses = [f"localhost:{each.getsockname()[1]}" for each in free]
    for each in free:
        each.close()
    return addresses


def launch():
    addresses, processes = free_addresses(2), []
    for rank in range(2):
        config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}
        environment = os.environ | {"TF_CONFIG": json.dumps(config)}
        processes.append(subprocess.Popen([sys.executable, __file__, "worker"], env=environment))
    sys.exit(max(process.wait() for process in processes))


if __name__ == "__main__":
    stories = {"worker": worker, "one": one, "server": server, "launch": launch}
    stories[sys.argv[1] if len(sys.argv) > 1 else "launch"]()
