import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from kindset.datasets import _image_folder as module
from kindset.datasets import load_image_folder
from kindset.exceptions import InputError


def save(path, array, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array, dtype=np.uint8)).save(path, **options)


@pytest.fixture
def ramp():
    """A grey picture that is darker at the left."""
    return np.tile(np.arange(0, 240, 20, dtype=np.uint8), (8, 1))


def test_grey_pictures_stay_grey(tmp_path, ramp):
    save(tmp_path / "b.png", ramp)
    save(tmp_path / "a.jpg", ramp, quality=95)
    save(tmp_path / "c.webp", np.dstack([ramp] * 3), lossless=True)
    data = load_image_folder(tmp_path)
    assert data.names == ["a.jpg", "b.png", "c.webp"]
    assert data.images.shape == (3, 8, 12)
    assert data.images.dtype == np.uint8
    np.testing.assert_array_equal(data.images[1], ramp)
    np.testing.assert_array_equal(data.images[2], ramp)
    np.testing.assert_allclose(data.images[0].astype(int), ramp, atol=6)
    assert data.target is None
    assert data.skipped == []


def test_colour_is_kept_if_there_is_any(tmp_path, ramp):
    red = np.zeros((8, 12, 3))
    red[..., 0] = 200
    save(tmp_path / "grey.png", ramp)
    save(tmp_path / "red.png", red)
    assert load_image_folder(tmp_path).images.shape == (2, 8, 12, 3)
    grey = load_image_folder(tmp_path, mode="grey").images
    np.testing.assert_array_equal(grey[1], np.full((8, 12), 60))  # 0.299 of 200
    colour = load_image_folder(tmp_path, mode="colour").images
    np.testing.assert_array_equal(colour[1], red)


def test_camera_rotation_and_transparency(tmp_path, ramp):
    turned = Image.fromarray(np.rot90(ramp).copy())
    exif = turned.getexif()
    exif[0x0112] = 6  # to be turned by 90 degrees to the right
    turned.save(tmp_path / "turned.png", exif=exif)
    see_through = np.zeros((8, 12, 4))
    see_through[:, :6, 3] = 255
    save(tmp_path / "through.png", see_through)
    data = load_image_folder(tmp_path, mode="grey")
    np.testing.assert_array_equal(data.images[0][:, :6], 0)
    np.testing.assert_array_equal(data.images[0][:, 6:], 255)
    np.testing.assert_array_equal(data.images[1], ramp)


def test_sixteen_bits(tmp_path):
    Image.fromarray(np.full((4, 4), 40_000, dtype=np.uint16)).save(tmp_path / "deep.png")
    assert (load_image_folder(tmp_path).images == 40_000 // 257).all()


def test_resize_squeezes_or_crops(tmp_path):
    wide = np.zeros((10, 30))
    wide[:, 10:20] = 255
    save(tmp_path / "wide.png", wide)
    squeezed = load_image_folder(tmp_path, size=10).images[0]
    assert squeezed.shape == (10, 10)
    assert squeezed[:, 0].max() < 20
    cropped = load_image_folder(tmp_path, size=10, crop=True).images[0]
    assert (cropped == 255).all()
    assert load_image_folder(tmp_path, size=(5, 15)).images.shape == (1, 5, 15)


def test_folders_are_known_labels(tmp_path, ramp):
    for name in ("cats/1.png", "cats/2.png", "dogs/big/1.png"):
        save(tmp_path / name, ramp)
    data = load_image_folder(tmp_path)
    assert data.target.tolist() == ["cats", "cats", "dogs/big"]


def test_what_cannot_be_read_is_listed(tmp_path, ramp):
    save(tmp_path / "good.png", ramp)
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.jpg").write_text("not a picture")
    whole = (tmp_path / "good.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "notes.txt").write_text("no matter")
    (tmp_path / ".hidden.png").write_text("no matter")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "linked.png").symlink_to(tmp_path / "good.png")
    data = load_image_folder(tmp_path)
    assert data.names == ["good.png", "linked.png"]
    assert data.skipped == [
        ("cut.png", "it is not an image, or damaged"),
        ("empty.png", "it is not an image, or damaged"),
        ("gone.png", "No such file or directory"),
        ("notes.txt", "not an image file"),
        ("text.jpg", "it is not an image, or damaged"),
    ]


def test_hidden_folders_are_ignored(tmp_path, ramp):
    for name in ("good.png", ".thumbnails/good.png", "below/.cache/deep/good.png"):
        save(tmp_path / name, ramp)
    data = load_image_folder(tmp_path)
    assert (data.names, data.skipped) == (["good.png"], [])
    hidden_itself = load_image_folder(tmp_path / ".thumbnails")
    assert hidden_itself.names == ["good.png"], "the folder that was asked for is read"


@pytest.mark.parametrize("name", ["a.tif", "a.TIFF", "a.bmp", "a.gif"])
def test_further_formats(tmp_path, ramp, name):
    save(tmp_path / name, ramp)
    np.testing.assert_array_equal(load_image_folder(tmp_path).images[0], ramp)


@pytest.mark.parametrize("name", ["a.tif", "a.gif", "a.webp"])
def test_first_picture_of_several(tmp_path, ramp, name):
    pages = [Image.fromarray(page) for page in (ramp, 255 - ramp, ramp // 2)]
    lossless = {"lossless": True} if name.endswith("webp") else {}
    pages[0].save(tmp_path / name, save_all=True, append_images=pages[1:], **lossless)
    data = load_image_folder(tmp_path)
    np.testing.assert_allclose(data.images[0].astype(int), ramp, atol=1)


def test_pixels_of_many_bits(tmp_path, ramp):
    deep = {
        "16.tif": ramp.astype(np.uint16) * 257,
        "32.tif": np.full((8, 12), 2**20, dtype=np.int32),
        "float.tif": ramp.astype(np.float32) / 255,
    }
    for name, pixels in deep.items():
        Image.fromarray(pixels).save(tmp_path / name)
    data = load_image_folder(tmp_path)
    assert data.names == ["16.tif"]
    np.testing.assert_array_equal(data.images[0], ramp)
    assert data.skipped == [
        ("32.tif", "its pixels have more than 16 bits; save it with 8 or 16 bits"),
        ("float.tif", "its pixels are fractions; save it with 8 or 16 bits"),
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_what_is_no_regular_file_does_not_block(tmp_path, ramp):
    save(tmp_path / "good.png", ramp)
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "zero.jpg").symlink_to("/dev/zero")
    (tmp_path / "linked.gif").symlink_to("pipe.png")
    assert load_image_folder(tmp_path).skipped == [
        ("linked.gif", "not a regular file"),
        ("pipe.png", "not a regular file"),
        ("zero.jpg", "not a regular file"),
    ]


def test_names_with_control_characters(tmp_path, ramp):
    strange = "a\n\x1b[31m.png"
    save(tmp_path / strange, ramp)
    assert load_image_folder(tmp_path).names == [strange], "an id is as it is on the disk"
    (tmp_path / strange).write_text("not a picture")
    with pytest.raises(InputError) as caught:
        load_image_folder(tmp_path)
    assert r"the first, a\n\x1b[31m.png: it is not an image" in str(caught.value)


def test_memory_is_that_of_the_pictures(tmp_path):
    """Grey pictures take one byte a pixel, and what was read is not held beside the result."""
    for i in range(40):
        save(tmp_path / f"{i}.png", np.full((200, 250), 5 * i))
    load_image_folder(tmp_path, size=1)  # imports what reading needs
    tracemalloc.start()
    images = load_image_folder(tmp_path).images
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert images.nbytes == 40 * 200 * 250
    assert peak < 2.4 * images.nbytes


def test_grey_pictures_among_coloured_ones(tmp_path, ramp):
    """A picture that was kept as one channel has three again."""
    red = np.zeros((8, 12, 3))
    red[..., 0] = 200
    save(tmp_path / "grey.png", ramp)
    save(tmp_path / "red.png", red)
    images = load_image_folder(tmp_path).images
    np.testing.assert_array_equal(images[0], np.dstack([ramp] * 3))


def test_only_the_formats_we_name(tmp_path, ramp):
    """Pillow would start a program to read some others, whatever the file is called."""
    save(tmp_path / "good.png", ramp)
    Image.fromarray(ramp).save(tmp_path / "drawing.eps")
    (tmp_path / "drawing.eps").rename(tmp_path / "drawing.png")
    assert load_image_folder(tmp_path).skipped == [
        ("drawing.png", "it is not an image, or damaged")
    ]


def test_bombs_are_not_decoded(tmp_path, ramp, monkeypatch):
    save(tmp_path / "good.png", ramp)
    Image.new("1", (2000, 2000)).save(tmp_path / "bomb.png")
    monkeypatch.setattr(module, "_MAX_PIXELS", 1_000_000)
    (skipped,) = load_image_folder(tmp_path).skipped
    assert skipped == ("bomb.png", "2000 x 2000 pixels are too many")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(InputError, match="too many pixels"):
        load_image_folder(_only(tmp_path, "bomb.png"), size=4)


def _only(folder, name):
    alone = folder / "alone"
    alone.mkdir()
    os.link(folder / name, alone / name)
    return alone


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size=0 must be"),
        ({"size": (3, 4, 5)}, "must be"),
        ({"mode": "sepia"}, "mode='sepia' is unknown; choose one of auto, grey, colour"),
    ],
)
def test_wrong_options(tmp_path, ramp, options, message):
    save(tmp_path / "a.png", ramp)
    with pytest.raises(InputError, match=message) as caught:
        load_image_folder(tmp_path, **options)
    assert [caught.value.parameter] == list(options)


def test_wrong_folders(tmp_path, ramp):
    with pytest.raises(InputError, match="there is no folder"):
        load_image_folder(tmp_path / "none")
    with pytest.raises(InputError, match=r"holds no \.png"):
        load_image_folder(tmp_path)
    (tmp_path / "a.png").touch()
    with pytest.raises(InputError, match=r"no image .* the first, a\.png: it is not an image"):
        load_image_folder(tmp_path)
    save(tmp_path / "b.png", ramp)
    save(tmp_path / "c.png", ramp[:4])
    with pytest.raises(
        InputError, match=r"2 different sizes \(12 x 8 \(1\), 12 x 4 \(1\)\)"
    ) as caught:
        load_image_folder(tmp_path)
    assert caught.value.parameter == "size"
    assert "--" not in str(caught.value)


def test_too_much_for_the_memory(tmp_path, ramp, monkeypatch):
    save(tmp_path / "a.png", ramp)
    monkeypatch.setattr(module, "_MAX_BYTES", 90)
    with pytest.raises(InputError, match="smaller size"):
        load_image_folder(tmp_path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_damage_is_read_or_listed(tmp_path, ramp, data):
    suffix = data.draw(st.sampled_from([".png", ".jpg", ".webp", ".tif", ".gif", ".bmp"]))
    file = tmp_path / f"a{suffix}"
    save(file, ramp)
    whole = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(bytes(whole)[: data.draw(st.integers(0, len(whole)))])
    save(tmp_path / "sound.png", ramp)
    found = load_image_folder(tmp_path, size=8)
    assert len(found.names) + len(found.skipped) == len(list(tmp_path.iterdir()))
    for path in tmp_path.iterdir():
        path.unlink()
