"""Kornia's functions and augmentations with small samples."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import kornia
import torch
from kornia import augmentation, color, enhance, filters, geometry
from library_samples._case import Case, chosen, required

BACKEND, FOLDER = "torch", kornia.__path__[0]
VERSION = kornia.__version__

_draws = torch.Generator().manual_seed(0)


def _rand(*shape: int, low: float = 0.1, high: float = 0.9) -> torch.Tensor:
    return low + (high - low) * torch.rand(shape, generator=_draws)


IMAGE, VOLUME = _rand(2, 3, 8, 8), _rand(1, 3, 4, 5, 6)
POINTS, OTHERS = _rand(1, 9, 2), _rand(1, 9, 2)
SPACE = _rand(1, 9, 3) + torch.tensor([0.0, 0.0, 2.0])
ROTATION = geometry.axis_angle_to_rotation_matrix(torch.tensor([[0.3, -0.2, 0.5]]))
FAR = geometry.axis_angle_to_rotation_matrix(torch.tensor([[-0.1, 0.4, 0.2]]))
SHIFT, AWAY = torch.tensor([[[0.3], [0.1], [0.2]]]), torch.tensor([[[-0.2], [0.3], [0.5]]])
CAMERA = torch.tensor([[[5.0, 0.0, 2.5], [0.0, 5.0, 2.0], [0.0, 0.0, 1.0]]])
HOMOGRAPHY = torch.tensor([[[1.1, 0.05, 0.1], [-0.04, 0.9, 0.05], [0.02, 0.01, 1.0]]])
RIGID = geometry.Rt_to_matrix4x4(ROTATION, SHIFT)
PROJECTION = CAMERA @ torch.cat([ROTATION, SHIFT], -1)
OTHER_PROJECTION = CAMERA @ torch.cat([FAR, AWAY], -1)
ESSENTIAL = geometry.essential_from_Rt(ROTATION, SHIFT, FAR, AWAY)
CORNERS = torch.tensor([[[1.2, 1.3], [5.1, 1.1], [5.3, 5.2], [1.1, 5.4]]])
MOVED = torch.tensor([[[1.0, 1.0], [6.0, 0.5], [6.0, 6.5], [0.5, 6.0]]])
CUBE = torch.tensor(
    [[[x, y, z] for z in (0.7, 3.1) for x, y in ((0.6, 0.8), (4.2, 0.8), (4.2, 3.3), (0.6, 3.3))]]
)
FUNDAMENTAL = geometry.fundamental_from_essential(ESSENTIAL, CAMERA, CAMERA)
QUATERNION = torch.tensor([[0.9, 0.2, -0.3, 0.24]])

USUAL: dict[str, Any] = {
    "input": IMAGE,
    "image": IMAGE,
    "input_tensor": IMAGE,
    "tensor": IMAGE,
    "src": IMAGE,
    "patch_src": IMAGE,
    "image_src": IMAGE,
    "guidance": IMAGE.flip(-1),
    "src1": IMAGE,
    "src2": IMAGE.flip(-1),
    "data": IMAGE,
    "alpha": torch.tensor(0.4),
    "beta": torch.tensor(0.5),
    "gamma": torch.tensor(0.8),
    "factor": torch.tensor(0.7),
    "mean": torch.tensor([0.4, 0.5, 0.6]),
    "std": torch.tensor([0.2, 0.3, 0.4]),
    "alpha_val": 0.5,
    "bits": 3,
    "kernel_size": 3,
    "sigma": torch.tensor([[1.0, 1.5]] * 2),
    "kernel": _rand(1, 3, 3),
    "kernel_x": _rand(1, 3),
    "kernel_y": _rand(1, 3),
    "sigma_color": torch.tensor([0.3, 0.4]),
    "sigma_space": torch.tensor([[1.0, 1.5]] * 2),
    "angle": torch.tensor([20.0, 33.0]),
    "direction": torch.tensor([0.4, -0.2]),
    "eps": 1e-3,
    "window_size": 3,
    "lower": (0.2, 0.2, 0.2),
    "upper": (0.7, 0.7, 0.7),
    "thresholds": torch.tensor([0.4, 0.6]),
    "thresh": torch.tensor(0.4),
    "r_shift": torch.tensor([0.1, 0.1]),
    "g_shift": torch.tensor([-0.1, 0.2]),
    "b_shift": torch.tensor([0.2, 0.0]),
    "points": POINTS,
    "points1": POINTS,
    "points2": OTHERS,
    "pts1": POINTS,
    "pts2": OTHERS,
    "points_1": POINTS,
    "points_src": CORNERS,
    "points_dst": MOVED,
    "weights": _rand(1, 9),
    "x": torch.tensor([0.4, 0.7]),
    "y": torch.tensor([0.2, -0.6]),
    "z": torch.tensor([0.1, 0.3]),
    "w": torch.tensor([0.8, 0.9]),
    "rho": torch.tensor([0.4, 0.7]),
    "phi": torch.tensor([0.4, -0.7]),
    "R": ROTATION,
    "t": SHIFT,
    "R1": ROTATION,
    "t1": SHIFT,
    "R2": FAR,
    "t2": AWAY,
    "K": CAMERA,
    "K1": CAMERA,
    "K2": CAMERA,
    "H": HOMOGRAPHY,
    "Fm": FUNDAMENTAL,
    "F_mat": FUNDAMENTAL,
    "E_mat": ESSENTIAL,
    "P": PROJECTION,
    "P1": PROJECTION,
    "P2": OTHER_PROJECTION,
    "M": HOMOGRAPHY,
    "rmat": ROTATION,
    "tvec": SHIFT,
    "camera_matrix": CAMERA,
    "intrinsics": CAMERA,
    "intrinsics_inv": torch.linalg.inv(CAMERA),
    "depth": _rand(1, 1, 4, 5) + 1,
    "trans_mat": HOMOGRAPHY,
    "trans_01": HOMOGRAPHY,
    "trans_12": RIGID,
    "trans_02": RIGID,
    "matrix": torch.tensor([[[1.1, 0.1, 0.3], [-0.1, 0.9, 0.2]]] * 2),
    "dsize": (6, 7),
    "size": (5, 6),
    "height": 4,
    "width": 5,
    "max_level": 2,
    "grid": geometry.create_meshgrid(4, 5),
    "src_homo_dst": HOMOGRAPHY,
    "noise": _rand(2, 2, 8, 8, low=-1, high=1),
    "translation": torch.tensor([[1.3, -0.6]] * 2),
    "scale_factor": torch.tensor([[1.2], [0.8]]),
    "shear": torch.tensor([[0.1, -0.2]] * 2),
    "axis_angle": torch.tensor([[0.3, -0.2, 0.5]]),
    "rotation_matrix": ROTATION,
    "quaternion": QUATERNION,
    "qvec": QUATERNION,
    "extrinsics": RIGID,
    "extrinsics_graphics": RIGID,
    "extrinsics_vision": RIGID,
    "roll": torch.tensor([0.2]),
    "pitch": torch.tensor([0.3]),
    "yaw": torch.tensor([0.1]),
    "vec": _rand(1, 3),
    "boxes": CORNERS,
    "dist": torch.tensor([[0.05, -0.02, 0.001, 0.002]]),
    "point_3d": SPACE,
    "point_2d": POINTS,
    "point_2d_norm": POINTS,
    "points_in_camera": SPACE[0],
    "pixel_coordinates": POINTS,
    "projected_points_in_camera_z1_plane": POINTS[0],
    "distorted_points_in_camera": POINTS[0],
    "points_in_cam_canonical": POINTS[0],
    "params": torch.tensor([[5.0, 5.0, 2.5, 2.0]] * 9),
    "dst_pix_trans_src_pix": HOMOGRAPHY,
    "dsize_src": (6, 7),
    "dsize_dst": (5, 6),
    "src_box": CORNERS.repeat(2, 1, 1),
    "dst_box": MOVED.repeat(2, 1, 1),
    "transform": HOMOGRAPHY.repeat(2, 1, 1),
    "center": torch.tensor([[2.0, 3.0]]),
    "scale": torch.tensor([[1.2, 0.8]]),
    "translations": torch.tensor([[0.5, 0.2]]),
    "map_x": _rand(2, 8, 8, high=6),
    "map_y": _rand(2, 8, 8, high=6),
    "ls1": _rand(1, 9, 2, 2),
    "ls2": _rand(1, 9, 2, 2),
    "baseline": torch.tensor(0.5),
    "focal": torch.tensor(5.0),
    "disparity": _rand(1, 1, 4, 5),
    "divisible_factor": 4,
    "kernel_centers": CORNERS.repeat(2, 1, 1) / 8,
    "kernel_weights": _rand(2, 4, 2),
    "affine_weights": _rand(2, 3, 2),
    "coeffs": torch.tensor([[1.0, -6.0, 11.0, -6.0]]),
    "lines": _rand(1, 9, 3),
    "line": _rand(1, 9, 3),
    "point": POINTS,
    "depth_dst": _rand(1, 1, 4, 5) + 1,
    "src_trans_dst": RIGID,
    "window": 3,
    "bins": torch.linspace(0, 1, 5),
    "bandwidth": torch.tensor(0.1),
    "x1": _rand(2, 9),
    "x2": _rand(2, 9),
    "jpeg_quality": torch.tensor([40.0, 70.0]),
    "inp": _rand(6, 3),
    "transform_matrix": _rand(3, 3),
    "mean_vector": _rand(1, 3),
    "cfa": color.CFA.BG,
    "imagey": _rand(2, 1, 8, 8),
    "imageuv": _rand(2, 2, 4, 4, low=-0.3, high=0.3),
    "A": HOMOGRAPHY,
    **{k: torch.tensor([0.1]) for k in ("sxy", "sxz", "syx", "syz", "szx", "szy")},
    "a": _rand(1, 4),
    "b": _rand(1, 4),
    "taux": torch.tensor([0.2]),
    "tauy": torch.tensor([0.1]),
    "world_points": _rand(1, 9, 3),
    "img_points": POINTS,
    "colormap": color.ColorMap("autumn", 16),
    "X": SPACE[:, :1].mT,
    "iou_threshold": 0.5,
    "angles": torch.tensor([[0.2, 0.3, 0.1]]),
    "scales": torch.tensor([[1.1, 0.9, 1.0]]),
    "trans": RIGID,
    "mode": "sobel",
    "order": 1,
    "plane_normals": torch.tensor([[0.1, 0.2, 1.0]]),
    "plane_offsets": torch.tensor([[1.5]]),
    "points_uv": POINTS[:, :1],
}

#: What a function takes that other functions take differently.
OWN: dict[str, dict[str, Any]] = {
    "color.apply_colormap": {"input_tensor": _rand(1, 1, 6, 6)},
    **{
        f"color.{n}": {"image": _rand(2, 1, 8, 8)}
        for n in ("grayscale_to_rgb", "raw_to_rgb", "raw_to_rgb_2x2_downscaled")
    },
    **{f"color.{n}": {"image": _rand(2, 4, 8, 8)} for n in ("rgba_to_rgb", "rgba_to_bgr")},
    "color.hsv_to_rgb": {"image": _rand(2, 3, 8, 8)},
    "color.hls_to_rgb": {"image": _rand(2, 3, 8, 8)},
    "color.lab_to_rgb": {"image": _rand(2, 3, 8, 8, low=20, high=60)},
    "color.luv_to_rgb": {"image": _rand(2, 3, 8, 8, low=20, high=60)},
    "color.yuv422_to_rgb": {"imageuv": _rand(2, 2, 8, 4, low=-0.3, high=0.3)},
    "enhance.equalize3d": {"input": _rand(1, 3, 8, 8, 8)},
    "enhance.equalize": {"input": _rand(2, 3, 24, 24)},
    "filters.get_motion_kernel2d": {"direction": torch.tensor([0.4, -0.2])},
    "enhance.histogram": {"x": _rand(2, 9)},
    "enhance.equalize_clahe": {"grid_size": (2, 2)},
    "enhance.solarize": {"thresholds": torch.tensor([0.4, 0.6])},
    "enhance.jpeg_codec_differentiable": {"input": _rand(2, 3, 16, 16)},
    "enhance.image_histogram2d": {"n_bins": 8, "max": 1.0},
    "enhance.adjust_gamma": {"gamma": torch.tensor(0.8)},
    "enhance.shift_rgb": {},
    **{
        f"filters.{n}": {"input": VOLUME, "kernel": _rand(1, 3, 3, 3)}
        for n in ("filter3d", "convolve3d", "correlate3d", "spatial_gradient3d")
    },
    "filters.spatial_gradient3d": {"input": VOLUME, "mode": "diff"},
    "filters.motion_blur3d": {
        "input": VOLUME,
        "angle": torch.tensor([[20.0, 10.0, 5.0]]),
        "direction": torch.tensor([0.4]),
    },
    "filters.get_motion_kernel3d": {
        "angle": torch.tensor([[20.0, 10.0, 5.0]]),
        "direction": torch.tensor([0.4]),
    },
    "filters.otsu_threshold": {"x": _rand(2, 1, 8, 8)},
    "filters.gaussian": {"sigma": torch.tensor([[1.0]])},
    **{f"filters.get_gaussian_{n}_kernel1d": {"sigma": torch.tensor([[1.0]])} for n in ("discrete", "erf")},
    "filters.get_gaussian_kernel1d": {"sigma": torch.tensor([[1.0]])},
    "filters.get_gaussian_kernel2d": {"sigma": torch.tensor([[1.0, 1.5]])},
    "filters.get_gaussian_kernel3d": {"sigma": torch.tensor([[1.0, 1.5, 0.8]])},
    "geometry.transform_points": {"trans_01": HOMOGRAPHY},
    "geometry.compose_transformations": {"trans_01": RIGID},
    "geometry.relative_transformation": {"trans_01": torch.linalg.inv(RIGID)},
    "geometry.inverse_transformation": {"trans_12": RIGID},
    **{
        f"geometry.{n}": {
            "tensor": VOLUME,
            "src": VOLUME,
            "input": VOLUME,
            "patch_src": VOLUME,
            "size": (3, 4, 4),
            "dsize": (3, 4, 5),
            "yaw": torch.tensor([10.0]),
            "pitch": torch.tensor([5.0]),
            "roll": torch.tensor([7.0]),
            "boxes": CUBE,
            "src_box": CUBE,
            "dst_box": CUBE * 0.9,
            "points_src": CUBE,
            "M": RIGID[:, :3] if "affine" in n else RIGID,
            "transform": RIGID,
            "out_size": (3, 4, 5),
            "matrix": RIGID[:, :3],
            "src_homo_dst": RIGID,
            "grid": geometry.create_meshgrid3d(3, 4, 5),
            "dst": CUBE * 0.9,
            "A": RIGID[:, :3],
            "pixel_coordinates": SPACE,
            "dst_pix_trans_src_pix": RIGID,
            "dsize_src": (3, 4, 5),
            "dsize_dst": (4, 5, 6),
            "depth": 3,
            "center": torch.tensor([[2.0, 1.0, 1.5]]),
            "translations": torch.tensor([[0.5, 0.2, 0.1]]),
            "scale": torch.tensor([[1.2, 0.8, 1.1]]),
            "angles": torch.tensor([[0.2, 0.3, 0.1]]),
        }
        for n in (
            "affine3d",
            "center_crop3d",
            "crop_and_resize3d",
            "crop_by_boxes3d",
            "crop_by_transform_mat3d",
            "rotate3d",
            "warp_affine3d",
            "warp_perspective3d",
            "homography_warp3d",
            "warp_grid3d",
            "get_affine_matrix3d",
            "get_shear_matrix3d",
            "convert_affinematrix_to_homography3d",
            "denormalize_pixel_coordinates3d",
            "normalize_pixel_coordinates3d",
            "infer_bbox_shape3d",
            "denormalize_homography3d",
            "normalize_homography3d",
            "nms3d",
            "nms3d_minmax",
            "conv_soft_argmax3d",
        )
    },
    "geometry.get_perspective_transform3d": {
        "src": CUBE,
        "dst": torch.tensor(
            [
                [
                    [0.5, 0.6, 0.8],
                    [4.5, 0.9, 0.6],
                    [4.0, 3.5, 0.7],
                    [0.7, 3.0, 0.9],
                    [0.5, 0.9, 3.3],
                    [4.4, 0.7, 3.0],
                    [4.1, 3.2, 3.2],
                    [0.6, 3.4, 3.4],
                ]
            ]
        ),
    },
    "geometry.nms3d": {"input": VOLUME, "kernel_size": (3, 3, 3)},
    "geometry.nms2d": {"kernel_size": (3, 3)},
    "geometry.conv_quad_interp3d": {"input": VOLUME},
    "geometry.iterative_quad_interp3d": {"input": VOLUME},
    "geometry.crop_by_transform_mat": {"out_size": (5, 6)},
    "geometry.warp_affine": {"M": HOMOGRAPHY[:, :2].repeat(2, 1, 1)},
    "geometry.warp_perspective": {"M": HOMOGRAPHY.repeat(2, 1, 1)},
    "geometry.homography_warp": {"src_homo_dst": HOMOGRAPHY.repeat(2, 1, 1)},
    "geometry.get_rotation_matrix2d": {"angle": torch.tensor([20.0])},
    "geometry.get_affine_matrix2d": {"angle": torch.tensor([20.0])},
    "geometry.invert_affine_transform": {"matrix": HOMOGRAPHY[:, :2]},
    "geometry.convert_affinematrix_to_homography": {"A": HOMOGRAPHY[:, :2]},
    "geometry.get_shear_matrix2d": {"sx": torch.tensor([0.2]), "sy": torch.tensor([0.1])},
    "geometry.rescale": {"factor": 0.7},
    "geometry.deg2rad": {"tensor": POINTS},
    "geometry.rad2deg": {"tensor": POINTS},
    "geometry.warp_points_tps": {
        "points_src": POINTS,
        "kernel_centers": CORNERS / 8,
        "kernel_weights": _rand(1, 4, 2),
        "affine_weights": _rand(1, 3, 2),
    },
    "geometry.relative_camera_motion": {},
    "geometry.find_homography_lines_dlt": {},
    "geometry.normalize_transformation": {"M": HOMOGRAPHY},
    "geometry.cross_product_matrix": {"x": _rand(1, 3)},
    "geometry.crop_and_resize": {"boxes": CORNERS.repeat(2, 1, 1)},
    "geometry.render_gaussian2d": {"mean": torch.tensor([[0.1, 0.2]]), "std": torch.tensor([[0.3, 0.4]])},
    "geometry.spatial_expectation2d": {},
    "geometry.bbox_to_mask": {"width": 8, "height": 8},
    "geometry.bbox_to_mask3d": {"boxes": CUBE, "size": (4, 5, 6)},
    "geometry.get_projective_transform": {"center": torch.tensor([[2.0, 1.0, 1.5]])},
    "geometry.bbox_generator": {
        k: torch.tensor([v])
        for k, v in zip(("x_start", "y_start", "width", "height"), (1.0, 2.0, 3.0, 4.0), strict=True)
    },
    "geometry.bbox_generator3d": {
        k: torch.tensor([v])
        for k, v in zip(
            ("x_start", "y_start", "z_start", "width", "height", "depth"),
            (1.0, 2.0, 1.0, 3.0, 4.0, 2.0),
            strict=True,
        )
    },
    "geometry.squared_norm": {"x": POINTS},
    "geometry.batched_squared_norm": {"x": POINTS},
    "geometry.batched_dot_product": {"x": POINTS, "y": OTHERS},
    "geometry.euclidean_distance": {"x": POINTS, "y": OTHERS},
    "geometry.tilt_projection": {},
    "geometry.transform_bbox": {"boxes": torch.tensor([[[1.0, 1.5, 4.0, 5.0]]])},
    "geometry.null_vector_3x4": {"A": PROJECTION},
    "geometry.solve_quadratic": {"coeffs": torch.tensor([[1.0, -3.0, 2.0]])},
    "geometry.solve_quartic": {"coeffs": torch.tensor([[1.0, -10.0, 35.0, -50.0, 24.0]])},
    "geometry.multiply_deg_one_poly": {},
    "geometry.multiply_deg_two_one_poly": {"a": _rand(1, 10), "b": _rand(1, 4)},
    "geometry.cam2pixel": {"cam_coords_src": _rand(1, 4, 5, 3) + 1, "dst_proj_src": RIGID},
    "geometry.pixel2cam": {"intrinsics_inv": torch.linalg.inv(RIGID), "pixel_coords": _rand(1, 4, 5, 3)},
    "geometry.camtoworld_graphics_to_vision_Rt": {},
    "geometry.warp_frame_depth": {"image_src": _rand(1, 3, 4, 5)},
    "geometry.unproject_points": {"depth": _rand(1, 9, 1) + 1},
    "geometry.unproject_points_orthographic": {"points_in_camera": POINTS[0], "extension": _rand(9)},
    "geometry.unproject_meshgrid": {},
    **{
        f"geometry.{n}": {"params": torch.tensor([[5.0, 5.0, 2.5, 2.0, 0.02, 0.01, 0.001, 0.0005]] * 9)}
        for n in (
            "distort_points_kannala_brandt",
            "undistort_points_kannala_brandt",
            "dx_distort_points_kannala_brandt",
        )
    },
    "geometry.distort_points_affine": {},
    "geometry.undistort_image": {"image": _rand(1, 3, 6, 7)},
    "geometry.motion_from_essential_choose_solution": {"x1": POINTS, "x2": OTHERS},
    "geometry.find_fundamental": {"weights": _rand(1, 9)},
    "geometry.find_affine": {"points1": _rand(1, 9, 2)},
    "geometry.point_line_distance": {"line": _rand(1, 9, 3)},
    "geometry.scale_intrinsics": {"scale_factor": torch.tensor([1.5])},
    "geometry.affine": {},
    "geometry.rotate": {},
    "geometry.projection_from_KRt": {},
    "geometry.depth_from_point": {"R": ROTATION[0], "t": SHIFT[0], "X": SPACE[0, :1]},
    "geometry.line_segment_transfer_error_one_way": {},
    "geometry.determinant_to_polynomial": {"A": _rand(1, 3, 13)},
    "geometry.trans": {},
    "geometry.essential_from_fundamental": {},
    "geometry.quaternion_log_to_exp": {"quaternion": _rand(1, 3)},
    "geometry.vector_to_skew_symmetric_matrix": {},
    "geometry.angle_to_rotation_matrix": {},
    "geometry.get_translation_matrix2d": {},
    "geometry.project_points_z1": {},
    "geometry.fundamental_from_essential": {},
}

#: Asked for though they have a default.
ALSO = {
    "filters.get_motion_kernel2d": ["direction"],
    "geometry.get_shear_matrix3d": ["sxy", "sxz", "syx", "syz", "szx", "szy"],
    "enhance.solarize": ["thresholds"],
    "geometry.get_shear_matrix2d": ["sx", "sy"],
    "enhance.equalize_clahe": ["grid_size"],
    "enhance.image_histogram2d": ["n_bins", "max"],
}

#: Why a function has no gradient to ask for.
LEFT_OUT = {
    "geometry.depth_warp": "takes camera objects",
    "geometry.fit_plane": "takes vector objects",
    "geometry.fit_line": "returns a line object",
    "geometry.nms3d_minmax": "returns a mask",
    "geometry.intrinsics_like": "takes the shape of its array only",
    **dict.fromkeys(
        (
            "geometry.create_meshgrid",
            "geometry.create_meshgrid3d",
            "geometry.normal_transform_pixel",
            "geometry.normal_transform_pixel3d",
        ),
        "takes no array",
    ),
    **dict.fromkeys(
        (
            "geometry.load_pointcloud_ply",
            "geometry.load_pointcloud_ply_binary",
            "geometry.save_pointcloud_ply",
            "geometry.save_pointcloud_ply_binary",
        ),
        "reads or writes files",
    ),
    **dict.fromkeys(
        ("geometry.validate_bbox", "geometry.validate_bbox3d", "geometry.sample_is_valid_for_homography"),
        "returns a boolean",
    ),
    **dict.fromkeys(("geometry.generate_scene", "geometry.random_intrinsics"), "draws at random"),
    "geometry.nms": "returns indices",
    "filters.in_range": "returns a mask",
}

_HELPERS = ("KORNIA", "are_checks", "is_compiling", "deprecated")


def cases() -> Iterator[Case | tuple[str, str]]:
    """Every public function of the modules, and every augmentation; or its name and why it is not there."""
    for module in (color, enhance, filters, geometry):
        prefix = module.__name__.rpartition(".")[2]
        for name in dir(module):
            function = getattr(module, name)
            if inspect.isfunction(function) and not name.startswith(("_", *_HELPERS)):
                yield _of_function(f"{prefix}.{name}", function)
    yield Case("filters.canny, its edges", lambda x: filters.canny(x)[1], {"x": IMAGE})
    plain = Case(
        "filters.canny, without hysteresis", lambda x: filters.canny(x, hysteresis=False)[1], {"x": IMAGE}
    )
    yield plain
    for name in dir(augmentation):
        made = getattr(augmentation, name)
        if (
            inspect.isclass(made)
            and issubclass(made, torch.nn.Module)
            and "Base" not in name
            and "Dispath" not in name
        ):
            yield _of_augmentation(name, made)


def _of_function(name: str, function: Any) -> Case | tuple[str, str]:
    if name in LEFT_OUT:
        return name, LEFT_OUT[name]
    try:
        given = {p: chosen(name, p, OWN, USUAL) for p in (*required(function), *ALSO.get(name, []))}
    except LookupError as error:
        return name, str(error)
    floats = {k: x for k, x in given.items() if isinstance(x, torch.Tensor) and x.is_floating_point()}
    if not floats:
        return name, "takes no array"
    return Case(name, function, floats, {k: x for k, x in given.items() if k not in floats})


_MADE: dict[str, dict[str, Any]] = {
    "CenterCrop": {"size": 6},
    "CenterCrop3D": {"size": (3, 4, 4)},
    "RandomCrop": {"size": (6, 6)},
    "RandomCrop3D": {"size": (3, 4, 4)},
    "RandomAffine": {"degrees": 20.0},
    "RandomAffine3D": {"degrees": 20.0},
    "RandomRotation": {"degrees": 20.0},
    "RandomRotation3D": {"degrees": 20.0},
    "RandomResizedCrop": {"size": (6, 6)},
    "Resize": {"size": (6, 6)},
    "LongestMaxSize": {"max_size": 6},
    "SmallestMaxSize": {"max_size": 6},
    "PadTo": {"size": (10, 10)},
    "Normalize": {"mean": torch.tensor([0.4, 0.5, 0.6]), "std": torch.tensor([0.2, 0.3, 0.4])},
    "Denormalize": {"mean": torch.tensor([0.4, 0.5, 0.6]), "std": torch.tensor([0.2, 0.3, 0.4])},
    "RandomShear": {"shear": 10.0},
    "RandomTranslate": {"translate_x": (0.1, 0.2)},
    "RandomBoxBlur": {"kernel_size": (3, 3)},
    "RandomGaussianBlur": {"kernel_size": (3, 3), "sigma": (0.5, 1.5)},
    "RandomMedianBlur": {"kernel_size": (3, 3)},
    "RandomMotionBlur": {"kernel_size": 3, "angle": 35.0, "direction": 0.5},
    "RandomMotionBlur3D": {"kernel_size": 3, "angle": 35.0, "direction": 0.5},
    "RandomElasticTransform": {"kernel_size": (3, 3), "sigma": (1.5, 1.5)},
    "RandomFisheye": {
        "center_x": torch.tensor([-0.3, 0.3]),
        "center_y": torch.tensor([-0.3, 0.3]),
        "gamma": torch.tensor([0.9, 1.1]),
    },
    "RandomClahe": {"grid_size": (2, 2)},
    "RandomRotation90": {"times": (1, 2)},
    "RandomJPEG": {},
    "RandomRain": {"drop_height": (2, 3), "drop_width": (1, 2), "number_of_drops": (2, 3)},
    "RandomSnow": {},
    "RandomBrightness": {"brightness": (0.8, 1.2)},
    "RandomContrast": {"contrast": (0.8, 1.2)},
    "RandomGamma": {"gamma": (0.8, 1.2)},
    "RandomHue": {"hue": (-0.2, 0.2)},
    "RandomSaturation": {"saturation": (0.8, 1.2)},
    "ColorJiggle": {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1},
    "ColorJitter": {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1},
    "RandomPerspective": {},
    "RandomErasing": {"scale": (0.1, 0.3)},
    "RandomMosaic": {"output_size": (8, 8)},
    "RandomThinPlateSpline": {},
    "RandomChannelDropout": {},
}
_NOT = {
    **dict.fromkeys(
        ("AugmentationSequential", "ImageSequential", "VideoSequential", "PatchSequential"), "a container"
    ),
    **dict.fromkeys(
        ("RandomCutMixV2", "RandomMixUpV2", "RandomMosaic", "RandomJigsaw", "PatchMix"),
        "mixes a batch with labels or boxes",
    ),
    **dict.fromkeys(("RandomTransplantation", "RandomTransplantation3D"), "takes a mask"),
    "RandomDissolving": "downloads a diffusion model",
}


def _of_augmentation(name: str, made: Any) -> Case | tuple[str, str]:
    if name in _NOT:
        return f"augmentation.{name}", _NOT[name]
    options = dict(_MADE.get(name, {}))
    if "p" in inspect.signature(made).parameters:
        options["p"] = 1.0
    image = (
        _rand(1, 3, 8, 8, 8)
        if name == "RandomEqualize3D"
        else _rand(2, 3, 24, 24)
        if name == "RandomEqualize"
        else VOLUME
        if name.endswith("3D")
        else _rand(2, 3, 16, 16)
        if name == "RandomJPEG"
        else IMAGE
    )

    def augment(image: torch.Tensor) -> Any:
        torch.manual_seed(0)
        return made(**options)(image)

    return Case(f"augmentation.{name}", augment, {"image": image})
