package jailertest

import "fmt"

// networkAttempts reach stand-ins for other machines, and for services of this one.
var networkAttempts = []attempt{
	{name: "a service of the machine", line: `exec 3<>/dev/tcp/127.0.0.1/18080; cat <&3`},
	{name: "a service by IPv6", line: `exec 3<>/dev/tcp/::1/18080; cat <&3`},
	{name: "a service by a mapped address", py: `socket.create_connection(("::ffff:127.0.0.1", 18080), 2)`},
	{name: "another machine", line: `exec 3<>/dev/tcp/192.0.2.10/18080; cat <&3`},
	{name: "another machine by curl", line: `curl -sm 3 --noproxy '*' http://10.0.0.1:18080/`},
	{name: "another machine by python", py: `socket.create_connection(("10.0.0.1", 18080), 2)`},
	{name: "another machine by node", line: `node -e 'require("net").connect(18080, "10.0.0.1").on("data", d => { console.log("" + d); process.exit() }).on("error", () => process.exit())'`},
	{name: "the metadata of a cloud", line: `curl -sm 3 --noproxy '*' http://169.254.169.254:18080/latest/meta-data/`},
	{name: "datagrams", py: `socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.10", 53))`},
	{name: "datagrams of IPv6", py: `socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("::1", 53))`},
	{name: "datagrams by bash", line: `echo x > /dev/udp/192.0.2.10/53`},
	{name: "datagrams of the light kind", py: `socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136).sendto(b"x", ("192.0.2.10", 53))`},
	{name: "names of hosts", line: `timeout 3 getent ahosts secret-data.example.com; true`},
	{name: "names of hosts by python", py: `
try: socket.getaddrinfo("secret-data.example.com", 80)
except OSError: pass`},
	{name: "echo requests", line: `ping -c 1 -W 1 192.0.2.10`, vain: "a pen's user may send none"},
	{name: "echo requests by a socket", py: `
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
s.sendto(b"\x08\x00\xf7\xff\x00\x00\x00\x00", ("192.0.2.10", 0))`, vain: "a pen's user may send none"},
	{name: "raw packets", py: `
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.sendto(b"\x08\x00\xf7\xff\x00\x00\x00\x00", ("192.0.2.10", 0))`, root: true},
	{name: "packets below IP", py: `
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); s.bind(("lo", 0)); s.send(bytes(60)); won("sent a frame")`, root: true},
	{name: "open fast", py: `
s = socket.socket(); s.sendto(b"GET / HTTP/1.0\r\n\r\n", 0x20000000, ("192.0.2.10", 18080)); print(s.recv(99))`},
	{name: "connect while sending later", py: `
s = socket.socket(); s.setsockopt(6, 30, 1); s.connect(("192.0.2.10", 18080)); s.send(b"x"); print(s.recv(99))`},
	{name: "many paths", py: `
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.settimeout(2); s.connect(("192.0.2.10", 18080)); print(s.recv(99))`},
	{name: "streams of SCTP", py: `
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132); s.settimeout(1); s.connect(("192.0.2.10", 18080))`, vain: "the kernel may have no SCTP"},
	{name: "streams of SMC", py: `
s = socket.socket(43, socket.SOCK_STREAM, 0); s.settimeout(2); s.connect(("192.0.2.10", 18080)); print(s.recv(99))`, vain: "the kernel may have no SMC"},
	{name: "an unspecified family", py: `
s = socket.socket(); libc.connect(s.fileno(), struct.pack("=HHI", 0, socket.htons(18080), 0x0100007f) + bytes(8), 16)
libc.connect(s.fileno(), struct.pack("=HHI", 2, socket.htons(18080), 0x0100007f) + bytes(8), 16); print(s.recv(99))`},
	{name: "a socket of IPv6 for IPv4", py: `
s = socket.socket(socket.AF_INET6); s.setsockopt(41, 26, 0); s.connect(("::ffff:10.0.0.1", 18080)); print(s.recv(99))`},
	{name: "change a socket's family", py: `
s = socket.socket(socket.AF_INET6); s.setsockopt(41, 1, socket.AF_INET) if False else None
s.connect(("::1", 18080)); print(s.recv(99))`},
	{name: "the sockets of virtual machines", py: `
s = socket.socket(40, socket.SOCK_STREAM); s.settimeout(1); s.connect((2, 18080)); won("reached the host")`, vain: "nothing may listen on the host"},
	{name: "a virtual machine's socket", py: `socket.socket(40, socket.SOCK_STREAM); won("has a socket of virtual machines")`, vain: "the kernel may have none"},
	{name: "bluetooth", py: `socket.socket(31, socket.SOCK_RAW, 1); won("has bluetooth")`, vain: "the kernel may have none"},
	{name: "the kernel's ciphers", py: `socket.socket(38, socket.SOCK_SEQPACKET); won("has the kernel's ciphers")`, vain: "the kernel may have none"},
	{name: "events of the kernel", py: `
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15); s.bind((0, 1)); won("listens to the kernel's events")`},
	{name: "audit", py: `socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9); won("talks to the audit of the kernel")`, vain: "the kernel may have none"},
	{name: "firewall", py: `socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12); won("talks to the firewall")`, vain: "the kernel may have none"},
	{name: "connections of others", py: `
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4); won("lists connections")`, vain: "the kernel may have none"},
	{name: "addresses of the machine", line: `ip addr add 10.9.9.9/32 dev lo && ping -c 1 -W 1 10.9.9.9 >/dev/null; ip link set lo down`, root: true},
	{name: "connections by /proc", line: `grep -i ':46A0' /proc/net/tcp && echo CANARY-connections`, open: "12"},
	{name: "be a service", py: `
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 19999)); s.listen()
won("listens where others connect", open("/proc/net/dev").read().count(":") > 0 and "46A0" in open("/proc/net/tcp").read())`},
	{name: "take a service's port", py: `
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 15, 1); s.bind(("127.0.0.1", 18081)); s.listen()
won("listens where others connect", "46A0" in open("/proc/net/tcp").read())`},
	{name: "ask, and go elsewhere", as: asking, line: `exec 3<>/dev/tcp/192.0.2.10/18080; cat <&3`},
	{name: "ask the proxy for another host", as: asking, line: `curl -sm 3 http://192.0.2.10:18080/; curl -sm 3 http://example.org/; curl -sm 3 https://evil.example.com/`},
	{name: "ask the proxy for the metadata", as: asking, line: `curl -sm 3 http://169.254.169.254/; curl -sm 3 -H 'Host: allowed.example.com' http://169.254.169.254:18080/`},
	{name: "ask the proxy for the machine", as: asking, line: `curl -sm 3 --noproxy '' http://127.0.0.1:18080/; curl -sm 3 --noproxy '' http://localhost:18080/; curl -sm 3 --noproxy '' 'http://[::1]:18080/'`},
	{name: "ask the proxy for a number", as: asking, line: `curl -sm 3 --noproxy '' http://0x7f.1:18080/; curl -sm 3 --noproxy '' http://2130706433:18080/; curl -sm 3 --noproxy '' http://3232235786:18080/`},
	{name: "ask the proxy for two hosts", as: asking, line: `curl -sm 3 --noproxy '' http://allowed.example.com@10.0.0.1:18080/; curl -sm 3 --noproxy '' http://10.0.0.1:18080/#allowed.example.com`},
	{name: "tunnel through the proxy", as: asking, line: `curl -sm 3 -p --proxy "$http_proxy" http://10.0.0.1:18080/`},
	{name: "tunnel by SOCKS", as: asking, line: `curl -sm 3 --proxy "socks5h://${http_proxy#http://}" http://10.0.0.1:18080/; curl -sm 3 --proxy "socks4://${http_proxy#http://}" http://10.0.0.1:18080/`, vain: "there is no proxy"},
	{name: "datagrams while asking", as: asking, py: `socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.10", 53))`},
	{name: "names of hosts while asking", as: asking, line: `timeout 3 getent ahosts secret-data.example.com; true`},
}

// socketAttempts reach programs of the machine that act for others.
func socketAttempts() (all []attempt) {
	for _, name := range unixSockets {
		address := name
		if name[0] == '@' {
			address = `\0` + name[1:]
		}
		for _, as := range []kind{reading, editing} {
			all = append(all, attempt{
				name: fmt.Sprintf("the socket %s, %s", name, map[kind]string{reading: "reading", editing: "editing"}[as]), as: as,
				py: fmt.Sprintf(`s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect("%s"); print(s.recv(99))`, address),
			})
		}
	}
	return append(all, []attempt{
		{name: "a socket by a link", py: `
os.symlink("/run", "r"); s = socket.socket(socket.AF_UNIX); s.connect("r/docker.sock"); print(s.recv(99))`},
		{name: "a socket by /proc/self/root", py: `
s = socket.socket(socket.AF_UNIX); s.connect("/proc/self/root/run/docker.sock"); print(s.recv(99))`},
		{name: "a socket by a descriptor", py: `
fd = os.open("/run", os.O_PATH); s = socket.socket(socket.AF_UNIX); s.connect("/proc/self/fd/%d/docker.sock" % fd); print(s.recv(99))`},
		{name: "a socket by an inherited descriptor", py: `
s = socket.socket(socket.AF_UNIX); s.connect("/proc/self/fd/5/run/docker.sock"); print(s.recv(99))`},
		{name: "a socket by a hard link", py: `
os.link("/srv/outside/service.sock", "mine.sock"); s = socket.socket(socket.AF_UNIX); s.connect("mine.sock"); print(s.recv(99))`},
		{name: "a socket by a process's root", py: `
for p in glob.glob("/proc/[0-9]*/root/run/docker.sock"):
    try: s = socket.socket(socket.AF_UNIX); s.connect(p); print(s.recv(99))
    except OSError: pass`},
		{name: "docker", line: `timeout 5 docker -H unix:///run/docker.sock ps; curl -sm 2 --unix-socket /var/run/docker.sock http://x/`},
		{name: "keys of ssh's agent", line: `SSH_AUTH_SOCK=/tmp/ssh-canary/agent.1 timeout 5 ssh-add -l; true`},
		{name: "the bus of the desktop", line: `DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus timeout 5 dbus-send --session --dest=x.y --print-reply / x.y.z; true`},
		{name: "the bus of the desktop, abstract", line: `DBUS_SESSION_BUS_ADDRESS=unix:abstract=dbus-canary timeout 5 dbus-send --session --dest=x.y --print-reply / x.y.z; true`},
	}...)
}
