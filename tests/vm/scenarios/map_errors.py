# SPDX-License-Identifier: GPL-2.0
"""Every refusal of map_device: its errno, and that nothing is left behind on either side."""

from vmlab import rnbd
from vmlab.lab import Lab

# Text for map_device with {path} and {disk}, and the errno (or those that are as good).
# Refused while the text is read.
WORDS = (
    ("", "EINVAL"),
    ("sessname=e", "EINVAL"),
    ("device_path={disk} {path}", "EINVAL"),
    ("sessname=e {path}", "EINVAL"),
    ("sessname=e {path} device_path={disk} colour=red", "EINVAL"),
    ("sessname=e {path} device_path={disk} access_mode=write", "EINVAL"),
    ("sessname=e {path} device_path={disk} access_mode=", "EINVAL"),
    ("sessname=e {path} device_path={disk} nr_poll_queues=-2", "EINVAL"),
    ("sessname=e {path} device_path={disk} nr_poll_queues=4096", "EINVAL"),
    ("sessname=e {path} device_path={disk} nr_poll_queues=few", "EINVAL"),
    ("sessname=e dest_port=65536 {path} device_path={disk}", "EINVAL"),
    ("sessname=e dest_port=-1 {path} device_path={disk}", "EINVAL"),
    ("sessname=e dest_port=http {path} device_path={disk}", "EINVAL"),
    ("sessname=e path=10.10.0.1 device_path={disk}", "EPROTONOSUPPORT"),
    ("sessname=e path=ip:10.10.0.999 device_path={disk}", "EINVAL"),
    ("sessname=e path=ip: device_path={disk}", "EINVAL"),
    ("sessname=e path=gid:10.10.0.1 device_path={disk}", "EINVAL"),
    ("sessname=e path=ip:10.10.0.2@ip: device_path={disk}", "EINVAL"),
    ("sessname=e path=mac:10.10.0.1 device_path={disk}", "EPROTONOSUPPORT"),
    ("sessname=a/b {path} device_path={disk}", "EINVAL"),
    ("sessname=a.b {path} device_path={disk}", "EINVAL"),
    ("sessname=e device_path={disk}", "ENXIO"),
    ("sessname=e " + " ".join(f"path=ip:10.10.0.{n}" for n in range(1, 8)) + " device_path={disk}", "ENOMEM"),
)

# Refused after a session was made, by the other side or for want of one.
REFUSALS = (
    ("sessname=e {path} device_path=/dev/nosuch", "ENOENT"),
    ("sessname=e {path} device_path=/etc", ("EINVAL", "ENOTBLK")),
    ("sessname=e {path} device_path=/dev/null", "ENOTBLK"),
    ("sessname=e {path} device_path=/dev/../dev/null", "EINVAL"),
    ("sessname=e path=ip:10.10.0.2@ip:10.10.0.1 device_path={long}", ("EINVAL", "ENOENT", "ENAMETOOLONG")),
    ("sessname=e dest_port=1299 {path} device_path={disk}", ("ECONNREFUSED", "ECONNRESET")),
)

LEFT = ("set +e; ls /sys/block | grep rnbd; ls /sys/class/rtrs-{side} | grep -v ctl; "
        "ls /sys/class/rnbd-client/ctl/devices 2>/dev/null; true")


def nothing_left(lab: Lab, after: str) -> None:
    rnbd.equal(lab.client.run(LEFT.format(side="client")).split(), [], f"left at the client after {after!r}")
    # The server notices the disconnect a moment later.
    try:
        rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server | grep -v ctl)\" ]", 10, "sessions gone")
    except AssertionError:
        raise AssertionError(f"a session is left at the server after {after!r}") from None
    rnbd.equal(lab.server.run("ls /sys/class/rnbd-server/ctl/devices").split(), [], "exported disks")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    texts = [t.format(path=rnbd.path_option(lab), disk=disk) for t, _ in WORDS]
    errors = rnbd.write_errors(lab.client, [(f"{rnbd.CTL}/map_device", text) for text in texts])
    bad = [f"{text!r}: got {got!r}, want {want}" for text, got, (_, want) in zip(texts, errors, WORDS) if got != want]
    rnbd.check(not bad, "\n".join(bad))
    nothing_left(lab, "bad words")
    for template, want in REFUSALS:
        text = template.format(path=rnbd.path_option(lab), disk=disk, long="/dev/" + "x" * 240)
        got = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90)
        rnbd.check(got in ((want,) if isinstance(want, str) else want), f"{text[:200]!r}: got {got!r}, want {want}")
        nothing_left(lab, text)

    name = rnbd.map_device(lab, disk)
    for text, want in ((rnbd.map_text(lab, disk), "EEXIST"), (f"sessname=vm device_path={disk}", "EEXIST"),
                       ("sessname=vm device_path=/dev/nosuch", "ENOENT")):
        rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text), want, text)
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=4 iflag=direct 2>/dev/null")
    rnbd.unmap(lab, name)
    nothing_left(lab, "unmap")

    # A server whose module is not loaded, and one that is not there.
    rnbd.unload_server(lab)
    got = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", rnbd.map_text(lab, disk), 90)
    rnbd.check(got in ("ECONNREFUSED", "ECONNRESET"), f"no server module: {got}")
    text = f"sessname=vm path=ip:10.10.0.2@ip:10.10.0.77 device_path={disk}"
    got = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90)
    rnbd.check(got in ("EHOSTUNREACH", "ECONNRESET", "ETIMEDOUT"), f"no such host: {got}")
    rnbd.equal(lab.client.run(LEFT.format(side="client")).split(), [], "left after a failed connect")
