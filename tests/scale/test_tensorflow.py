"""TensorFlow on two workers, on two logical devices of one, and what its exports hold."""


def test_two_workers_give_the_gradients_of_one_device(started):
    assert started("scale_tensorflow.py") == ["MultiWorkerMirroredStrategy 1 replicas equal"] * 2


def test_two_devices_of_one_process_and_what_is_exported(started):
    found = started("scale_tensorflow.py", "one")
    assert found == ["MirroredStrategy 2 replicas equal", "model.export equal", "TFLite equal"]
