// A user's own C++ operators: none of them has a derivative, so autograd sees the ATen ops that they call.

#include <ATen/ATen.h>
#include <torch/library.h>

using at::Tensor;

TORCH_LIBRARY(surrogate_test_extension, m) {
  m.def("sign", [](const Tensor& x) { return at::sign(x); });
  m.def("sign_method", [](const Tensor& x) { return x.sign(); });
  m.def("sign_inplace", [](const Tensor& x) { return (x * 1).sign_(); });
  m.def("sgn", [](const Tensor& x) { return at::sgn(x); });
  m.def("round", [](const Tensor& x) { return at::round(x); });
  m.def("round_decimals", [](const Tensor& x) { return at::round(x, 1); });
  m.def("floor", [](const Tensor& x) { return x.floor(); });
  m.def("ceil", [](const Tensor& x) { return at::ceil(x); });
  m.def("trunc", [](const Tensor& x) { return at::trunc(x); });
  m.def("fix", [](const Tensor& x) { return at::fix(x); });
  m.def("abs", [](const Tensor& x) { return at::abs(x); });
  m.def("relu", [](const Tensor& x) { return x.relu(); });
  m.def("relu6", [](const Tensor& x) { return at::relu6(x); });
  m.def("hardtanh", [](const Tensor& x) { return at::hardtanh(x); });
  m.def("clamp", [](const Tensor& x) { return at::clamp(x, -1, 1); });
  m.def("clamp_min", [](const Tensor& x) { return x.clamp_min(0); });
  m.def("remainder", [](const Tensor& x) { return at::remainder(x, 0.75); });
  m.def("remainder_reflected", [](const Tensor& x) { return at::remainder(at::Scalar(2.5), x); });
  m.def("fmod", [](const Tensor& x) { return at::fmod(x, 0.75); });
  m.def("floor_divide", [](const Tensor& x) { return at::floor_divide(x, 0.75); });
  m.def("div_floor", [](const Tensor& x) { return at::div(x, at::full({}, 0.75, x.options()), "floor"); });
  m.def("heaviside", [](const Tensor& x) { return at::heaviside(x, at::zeros({}, x.options())); });
  m.def("sign_times_itself", [](const Tensor& x) { return at::sign(x) * x; });
}
