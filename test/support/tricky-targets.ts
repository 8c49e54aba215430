/** Where a webhook must never go. PORT is a server on this machine's loopback that counts its visitors. */

const SPECIAL_IPV4 = `
0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.0.0.1 10.1.2.3 10.255.255.255 100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255
127.0.0.0 127.0.0.1 127.0.0.53 127.1.2.3 127.255.255.254 127.255.255.255 168.63.129.16 169.254.0.0 169.254.0.1 169.254.169.254 169.254.170.2
169.254.255.255 172.16.0.0 172.16.0.1 172.17.0.1 172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.170 192.0.0.192 192.0.0.255 192.0.2.0
192.0.2.1 192.0.2.255 192.31.196.1 192.52.193.1 192.88.99.0 192.88.99.1 192.88.99.255 192.168.0.0 192.168.0.1 192.168.1.1
192.168.255.255 192.175.48.1 198.18.0.0 198.18.0.1 198.19.255.255 198.51.100.0 198.51.100.7 198.51.100.255 203.0.113.0 203.0.113.9
203.0.113.255 224.0.0.0 224.0.0.1 224.0.0.251 239.255.255.250 239.255.255.255 240.0.0.0 240.0.0.1 247.8.9.10 255.255.255.254
255.255.255.255`

/** The same addresses, written so that a naive check does not see them. */
const DISGUISED_IPV4 = `
2130706433 017700000001 0x7f000001 0X7F000001 0x7f.1 127.1 127.0.1 0177.0.0.1 0177.0.0.01 0x7f.0.0.1 0x7f.0x0.0x0.0x1 127.0x1
127.0.0x0.1 0177.1 00000177.0.0.1 127.0.0.1. 2130706433. 127.000.000.001 0 0x0 00 0.0 0.0.0 2852039166 0xa9fea9fe 0xA9FEA9FE
025177524776 169.16689662 169.254.43518 0xa9.254.169.254 0251.0376.0251.0376 169.254.0xa9fe 0xa9.0xfe.0xa9.0xfe 3232235521 0xc0a80001
030052000001 192.168.1 192.11010049 167772161 0xa000001 012.0.0.1 10.1 012.1 2886729729 0xac100001 172.1048577 3221225985
%31%32%37.0.0.1 127%2E0%2E0%2E1 １２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1 ①②⑦.⓪.⓪.① ⑯⑨.②⑤④.①⑥⑨.②⑤④ ０ｘ７ｆ.1 4294967295 0xffffffff`

const SPECIAL_IPV6 = `
:: ::1 0:0:0:0:0:0:0:0 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::2 ::127.0.0.1 ::7f00:1 ::10.0.0.1 ::8.8.8.8
::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:127.0.0.1 0:0:0:0:0:ffff:127.0.0.1 0:0:0:0:0:ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe
::ffff:169.254.169.254 ::ffff:192.168.0.1 ::ffff:172.16.0.1 ::ffff:100.64.0.1 ::ffff:0.0.0.0 ::ffff:224.0.0.1 ::ffff:255.255.255.255
::ffff:198.18.0.1 ::ffff:192.0.2.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1
64:ff9b::8.8.8.8 64:ff9b:1::1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff 100:: 100::1 100::ffff:ffff:ffff:ffff 100:0:0:1::1 2001:: 2001::1
2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:2::1 2001:3::1 2001:10::1 2001:20::1 2001:1ff:ffff::1 2001:db8::
2001:db8::1 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2002:: 2002:7f00:1:: 2002:7f00:0001::1 2002:a9fe:a9fe:: 2002:0a00:0001::1
2002:808:808::1 2620:4f:8000::1 3fff:: 3fff::1 3fff:fff:ffff::1 4000::1 5f00:: 5f00::1 8000::1 c000::1 fc00:: fc00::1 fd00::1
fd00:ec2::254 fd20:ce::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fe80:: fe80::1 fe80::a9fe:a9fe febf::1 fec0:: fec0::1 feff::1
ff00:: ff01::1 ff02::1 ff02::2 ff05::1:3 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 1::1 400::1 1000::1 e000::1`

const NAMES = `
localhost LOCALHOST localhost. a.localhost foo.bar.localhost localhost.localdomain ip6-localhost broadcasthost printer.local router.lan
metadata metadata.google.internal metadata.internal instance-data db.internal api.corp wiki.intranet nas.home box.home.arpa host.private
postgres redis gateway kubernetes something.invalid hidden.onion ｌｏｃａｌｈｏｓｔ LocalHost.LocalDomain`

/** Whole URLs: schemes, credentials, ports and shapes. */
const SHAPES = [
  'http://hooks.example:PORT/',
  'http://127.0.0.1:PORT/',
  'http://[::1]:PORT/',
  'ftp://127.0.0.1:PORT/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/_x',
  'ws://127.0.0.1:PORT/',
  'data:text/plain,x',
  'javascript:alert(1)',
  'unix:/var/run/docker.sock',
  '//127.0.0.1:PORT/',
  '/hooks',
  '127.0.0.1:PORT',
  '',
  'https://',
  'https:///',
  'https://:PORT/',
  'https://user@hooks.example:PORT/',
  'https://user:secret@hooks.example:PORT/',
  'https://hooks.example@127.0.0.1:PORT/',
  'https://hooks.example:443@127.0.0.1:PORT/',
  'https://hooks.example\\@127.0.0.1:PORT/',
  'https://127.0.0.1\\@hooks.example:PORT/',
  'https:\\\\127.0.0.1:PORT/',
  'https:127.0.0.1:PORT/',
  'https:/127.0.0.1:PORT/',
  'https://127.0.0.1:PORT#@hooks.example/',
  'https://127.0.0.1:PORT?@hooks.example/',
  'https://hooks.example#@127.0.0.1:PORT/',
  ' https://127.0.0.1:PORT/',
  'https://\t127.0.0.1:PORT/',
  'ht\ntps://127.0.0.1:PORT/',
  'https://hooks.example:22/',
  'https://hooks.example:25/',
  'https://hooks.example:0/',
  'https://hooks.example:99999/',
  'https://[::1%25lo]:PORT/',
  'https://[fe80::1%25eth0]:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'https://1.2.3.4.5:PORT/',
  'https://256.256.256.256:PORT/',
  'https://0x7f.0x0.0x0.0x100:PORT/',
]

const words = (text: string) => text.trim().split(/\s+/)

export const FORBIDDEN_IPV4 = words(SPECIAL_IPV4)
export const FORBIDDEN_IPV6 = words(SPECIAL_IPV6)

/** With the port of the server that counts. */
export function trickyTargets(port: number): string[] {
  const at = (host: string) => `https://${host}:${port}/hooks`
  return [
    ...[...words(SPECIAL_IPV4), ...words(DISGUISED_IPV4), ...words(NAMES)].map(at),
    ...words(SPECIAL_IPV6).map(address => at(`[${address}]`)),
    ...SHAPES.map(shape => shape.replaceAll('PORT', String(port))),
  ]
}

export const PUBLIC_ADDRESSES = words(`
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.0 172.15.255.255
172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 203.0.112.255 203.0.114.0 223.255.255.255
2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450:4001:81b::200e 2001:200::1 2400:cb00::1 3ffe::1 ::ffff:8.8.8.8`)
