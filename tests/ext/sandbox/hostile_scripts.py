"""Scripts that try to get out of a sandbox or to take more than their share, in many variants."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ATTACKS: Final = {
    "write outside": "open(OUTSIDE + '/new', 'w').write('x')",
    "overwrite outside": "open(OUTSIDE + '/victim', 'w').write('x')",
    "write to the system": (
        "for place in ('/etc/new', '/usr/new', '/usr/bin/new', '/new', '/var/new', '/dev/new'):\n"
        "    try:\n        open(place, 'w'); print('WROTE', place)\n    except OSError: pass"
    ),
    "delete": (
        "import shutil; shutil.rmtree('/', ignore_errors=True)\nos.remove(OUTSIDE + '/victim')"
    ),
    "write through a link": (
        "os.symlink(OUTSIDE, '/tmp/way'); open('/tmp/way/new', 'w').write('x')"
    ),
    "link into the system": (
        "os.symlink('/usr/bin', '/tmp/own'); os.symlink('/tmp', '/usr/way')\n"
        "os.link('/usr/bin/python3', '/tmp/python3')"
    ),
    "replace the script": "open('/script.py', 'w').write('x'); os.rename('/tmp', '/usr/tmp')",
    "read a secret": "print(open(OUTSIDE + '/secret').read())",
    "read the users": (
        "for place in ('/usr/local', '/usr/src'):\n"
        "    if os.path.isdir(place) and os.listdir(place): print('READ SOFTWARE')\n"
        "print(open('/etc/passwd').read()); print('READ USERS')"
    ),
    "read other processes": (
        "import glob\n"
        "for place in glob.glob('/proc/*/environ') + [f'/proc/{HOST}/environ']:\n"
        "    print(open(place).read())\n"
    ),
    "connect": "import socket; socket.create_connection(('127.0.0.1', PORT), 1).send(b'x')",
    "connect by every way": (
        "import socket, itertools\n"
        "for family, kind in itertools.product(range(1, 46), range(1, 6)):\n"
        "    try:\n        socket.socket(family, kind); print('GOT SOCKET', family, kind)\n"
        "    except (OSError, ValueError): pass"
    ),
    "fork bomb": "while True:\n    try: os.fork()\n    except OSError: pass",
    "fill the disks": (
        "for place in ('/tmp', '/dev/shm', '/', '/dev'):\n"
        "    for number in range(64):\n"
        "        try:\n            open(f'{place}/{number}', 'wb').write(b'x' * 4_000_000)\n"
        "        except OSError: pass\n"
        "print('KEPT', 512 * sum(os.stat('/tmp/' + each).st_blocks for each in os.listdir('/tmp')))"
    ),
    "fill the memory": "x = []\nwhile True: x.append(bytearray(10_000_000))",
    "share memory": (
        "import ctypes; c = ctypes.CDLL(None)\n"
        "if c.shmget(0, 1 << 30, 0o1600) >= 0: print('GOT MEMORY')\n"
        "if c.memfd_create(b'x', 0) >= 0: print('GOT A FILE OF MEMORY')\n"
        "if c.syscall(447, 0) >= 0: print('GOT SECRET MEMORY')\n"
        "import socket; print('GOT PAIR', socket.socketpair())"
    ),
    "print endlessly": "while True: print('x' * 10_000)",
    "print errors endlessly": "import sys\nwhile True: print('x' * 10_000, file=sys.stderr)",
    "hang": "import time\nwhile True: time.sleep(600)",
    "spin": "while True: pass",
    "kill everything": "os.kill(HOST, 9); os.kill(-1, 9); os.kill(os.getppid(), 9)",
    "enter namespaces": (
        "import ctypes; c = ctypes.CDLL(None)\n"
        "for flags in (0x10000000, 0x20000, 0x40000000, 0x10020000):\n"
        "    if c.unshare(flags) == 0: print('GOT NAMESPACE')\n"
        "if c.mount(b'none', b'/tmp', b'tmpfs', 0, b'') == 0: print('GOT MOUNT')"
    ),
    "trace": (
        "import ctypes; c = ctypes.CDLL(None)\n"
        "if c.ptrace(16, HOST, 0, 0) == 0 or c.ptrace(16, 1, 0, 0) == 0: print('GOT TRACE')"
    ),
    "use what is open": (
        "for number in range(3, 64):\n"
        "    try:\n        os.write(number, b'x'); print('WROTE', number)\n    except OSError: pass"
    ),
    "become root": (
        "import resource\n"
        "for act in (lambda: os.setuid(0) or os.getuid() or open('/dev/mem'),\n"
        "            lambda: os.chroot('/tmp'), lambda: os.mknod('/tmp/sda', 0o60600, 2049),\n"
        "            lambda: resource.setrlimit(resource.RLIMIT_NPROC, (4096, 4096))):\n"
        "    try:\n        act(); print('GOT RIGHTS')\n    except (OSError, ValueError): pass"
    ),
    "run a program": "os.execv('/usr/bin/touch', ['touch', OUTSIDE + '/new'])",
}
"""What is tried. A line in capitals that it prints says that it worked."""

WAYS: Final = {
    "plainly": "attack()",
    "deaf": (
        "import signal\n"
        "for number in range(1, 65):\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "attack()"
    ),
    "in a child": "attack() if os.fork() == 0 else os.wait()",
    "as a daemon": (
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.umask(0)\n"
        "        attack()\n    os._exit(0)\n"
    ),
    "as a daemon that is waited for": (
        "import time\n"
        "if os.fork() == 0:\n    os.setsid()\n    attack()\n    os._exit(0)\ntime.sleep(0.5)"
    ),
    "in threads": (
        "import threading\n"
        "threads = [threading.Thread(target=attack) for _ in range(3)]\n"
        "for thread in threads: thread.start()"
    ),
    "again and again": "for _ in range(5):\n    try: attack()\n    except OSError: pass",
    "at the end": "import atexit; atexit.register(attack)",
}
"""How it is tried."""

WORKED: Final = ("WROTE", "GOT ", "READ USERS", "READ SOFTWARE")


@dataclass(frozen=True)
class Target:
    """What is outside, for a script to harm."""

    outside: Path
    port: int
    pid: int

    def script(self, attack: str, way: str) -> bytes:
        """A hostile script."""
        body = "\n".join(f"    {line}" for line in ATTACKS[attack].split("\n"))
        head = f"import os\nOUTSIDE, PORT, HOST = {str(self.outside)!r}, {self.port}, {self.pid}\n"
        return f"{head}def attack():\n{body}\n{WAYS[way]}\n".encode()


def variants() -> Iterator[tuple[str, str]]:
    """All of attack and way, those of the first ones far apart."""
    attacks, ways = list(ATTACKS), list(WAYS)
    for shift in range(len(ways)):
        for number, attack in enumerate(attacks):
            yield attack, ways[(number + shift) % len(ways)]
