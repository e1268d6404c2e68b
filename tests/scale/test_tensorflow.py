"""TensorFlow on two workers, on two logical devices of one, with a server, and what its exports hold."""


def test_two_workers_give_the_gradients_of_one_device(started):
    assert started("scale_tensorflow.py") == ["MultiWorkerMirroredStrategy 1 results equal"] * 2


def test_two_devices_of_one_process_and_what_is_exported(started):
    found = started("scale_tensorflow.py", "one")
    assert found == [
        "MirroredStrategy 2 results equal",
        "DTensor 1 results equal",
        "model.export equal",
        "TFLite equal",
    ]


def test_a_parameter_server(started):
    assert started("scale_tensorflow.py", "server") == ["ParameterServerStrategy 4 results equal"]
