import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Cidr, parseCidr } from './cidr.ts'
import { Ip, ipFromSocket, parseIp } from './ip.ts'

describe('parseIp', () => {
  for (const [text, canonical] of [
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['10.0.0.7', '10.0.0.7'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::1.2.3.4', '::102:304'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['1:2:3:4:5:6:255.255.255.255', '1:2:3:4:5:6:ffff:ffff'],
    ['::ffff:0:1.2.3.4', '::ffff:0:102:304'],
  ] as const) {
    it(`${text} is ${canonical}`, () => assert.equal(parseIp(text)?.text, canonical))
  }

  for (const [why, text] of [
    ['empty', ''],
    ['a number', '1'],
    ['three bytes', '10.0.0'],
    ['five bytes', '10.0.0.0.1'],
    ['a leading zero', '010.0.0.1'],
    ['a double zero', '10.00.0.1'],
    ['a byte of 256', '10.0.0.256'],
    ['a hexadecimal byte', '0x7f.0.0.1'],
    ['an empty byte', '10..0.1'],
    ['a dot in front', '.10.0.0.1'],
    ['a dot behind', '10.0.0.1.'],
    ['a space', ' 10.0.0.1'],
    ['a line feed', '10.0.0.1\n'],
    ['a NUL', '10.0.0.1\0'],
    ['a port', '10.0.0.1:80'],
    ['a range', '10.0.0.1/32'],
    ['a sign', '-1.0.0.1'],
    ['fullwidth digits', '１0.0.0.1'],
    ['Arabic digits', '١٠.0.0.1'],
    ['brackets', '[::1]'],
    ['a zone', 'fe80::1%eth0'],
    ['an empty zone', 'fe80::1%'],
    ['a zone alone', '%eth0'],
    ['mapped IPv4', '::ffff:10.0.0.1'],
    ['mapped IPv4 in hexadecimal', '::ffff:a00:1'],
    ['mapped IPv4 in full', '0:0:0:0:0:FFFF:a00:1'],
    ['two gaps', '1::2::3'],
    ['three colons', ':::'],
    ['a colon in front', ':1::'],
    ['a colon behind', '1::2:'],
    ['seven groups', '1:2:3:4:5:6:7'],
    ['nine groups', '1:2:3:4:5:6:7:8:9'],
    ['a gap of nothing', '1:2:3:4::5:6:7:8'],
    ['a group of five digits', '::12345'],
    ['a group that is no number', '::g'],
    ['IPv4 in the middle', '::1.2.3.4:1'],
    ['IPv4 too far behind', '1:2:3:4:5:6:7:1.2.3.4'],
    ['IPv4 with a leading zero', '::01.2.3.4'],
    ['a very long text', '1'.repeat(1_000_000)],
  ] as const) {
    it(`rejects ${why}`, () => assert.equal(parseIp(text), undefined))
  }

  it('agrees with a plain BigInt parser on any string', () => {
    fc.assert(
      fc.property(ANY_TEXT, (text) => {
        const ip = parseIp(text)
        assert.deepEqual(ip && bits(ip), plainIp(text))
      }),
      { numRuns: 150 },
    )
  })

  it('parses its own string form', () => {
    fc.assert(
      fc.property(IPS, (ip) => assert.ok(parseIp(ip.text)?.equals(ip))),
      { numRuns: 150 },
    )
  })

  it('is frozen', () => assert.ok(Object.isFrozen(parseIp('10.0.0.7'))))
})

describe('ipFromSocket', () => {
  for (const [text, shown] of [
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['::FFFF:10.0.0.7', '10.0.0.7'],
    ['::ffff:a00:7', '10.0.0.7'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    ['::ffff:0:10.0.0.7', '::ffff:0:a00:7'],
    ['10.0.0.7%eth0', undefined],
    ['fe80::1%', undefined],
    ['/run/socket', undefined],
    ['', undefined],
  ] as const) {
    it(`${text} is ${shown ?? 'nothing'}`, () => assert.equal(ipFromSocket(text)?.text, shown))
  }
})

describe('parseCidr', () => {
  for (const [text, masked] of [
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['10.1.2.3/0', '0.0.0.0/0'],
    ['10.1.2.3/32', '10.1.2.3/32'],
    ['255.255.255.255/31', '255.255.255.254/31'],
    ['2001:db8:ffff::1/33', '2001:db8:8000::/33'],
    ['2001:db8::1/128', '2001:db8::1/128'],
    ['ffff::/0', '::/0'],
    ['::ffff:0:0:1/127', '::ffff:0:0:0/127'],
  ] as const) {
    it(`${text} masks to ${masked}`, () => assert.equal(parseCidr(text)?.masked().text, masked))
  }

  for (const text of [
    '',
    '/',
    '/8',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/00',
    '10.0.0.0/+8',
    '10.0.0.0/-1',
    '10.0.0.0/8 ',
    '10.0.0.0/8\n',
    '10.0.0.0/8/8',
    '10.0.0.0/1e1',
    '10.0.0.0/255.0.0.0',
    '10.0.0/8',
    '::/129',
    '::/1000',
    '::1%eth0/64',
    '::ffff:10.0.0.0/104',
    '2001:db8::/٣٢',
  ]) {
    it(`rejects ${JSON.stringify(text)}`, () => assert.equal(parseCidr(text), undefined))
  }

  it('contains what a plain comparison of prefix bits says', () => {
    fc.assert(
      fc.property(CIDRS, NEARBY, (range, near) => {
        const ip = near(range.ip)
        const other = new Cidr(ip, ip.family === 4 ? range.prefixLength % 33 : range.prefixLength)
        assert.equal(range.containsIp(ip), plainContains(range, ip))
        const expected = range.prefixLength <= other.prefixLength && plainContains(range, ip)
        assert.equal(range.containsCidr(other), expected)
        assert.ok(range.containsIp(range.masked().ip))
      }),
      { numRuns: 150 },
    )
  })
})

// Simple reference implementations.

function plainIp(text: string): string | undefined {
  if (!text.includes(':')) return plainV4(text)
  const gaps = text.split('::')
  if (gaps.length > 2) return undefined
  const [left = [], right = []] = gaps.map(plainGroups)
  const count = left.length + right.length
  if (gaps.length === 2 ? count > 7 : count !== 8) return undefined
  const all = [...left, ...new Array<string>(8 - count).fill('0'), ...right]
  if (!all.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined
  const words = all.map((group) => group.padStart(4, '0').toLowerCase()).join('')
  return words.startsWith(`${'0'.repeat(20)}ffff`) ? undefined : words
}

function plainGroups(text: string, part: number, parts: readonly string[]): readonly string[] {
  if (text === '') return []
  const groups = text.split(':')
  const last = groups.at(-1) ?? ''
  if (!last.includes('.') || part !== parts.length - 1) return groups
  const v4 = plainV4(last)
  return v4 === undefined ? ['no'] : [...groups.slice(0, -1), v4.slice(0, 4), v4.slice(4)]
}

function plainV4(text: string): string | undefined {
  const bytes = text.split('.')
  if (bytes.length !== 4) return undefined
  if (!bytes.every((byte) => /^(0|[1-9][0-9]{0,2})$/.test(byte) && Number(byte) < 256)) {
    return undefined
  }
  return bytes.map((byte) => Number(byte).toString(16).padStart(2, '0')).join('')
}

function bits(ip: Ip): string {
  const words = ip.family === 4 ? [ip.w3] : [ip.w0, ip.w1, ip.w2, ip.w3]
  return words.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

function plainContains(range: Cidr, ip: Ip): boolean {
  if (range.ip.family !== ip.family) return false
  const width = BigInt(ip.family === 4 ? 32 : 128)
  const shift = width - BigInt(range.prefixLength)
  return BigInt(`0x${bits(range.ip)}`) >> shift === BigInt(`0x${bits(ip)}`) >> shift
}

const OCTET = fc.oneof(fc.nat(255).map(String), fc.constantFrom('00', '01', '256', ''))
const GROUP = fc.oneof(
  fc.nat(65535).map((group) => group.toString(16)),
  fc.constantFrom('0', '0', '0000', 'ffff', 'FFFF', '12345', '', 'g'),
)
const V4 = fc.array(OCTET, { minLength: 3, maxLength: 5 }).map((bytes) => bytes.join('.'))
const V6 = fc
  .tuple(
    fc.array(GROUP, { maxLength: 8 }),
    fc.constantFrom('::', ':', '', ':::'),
    fc.array(fc.oneof({ weight: 7, arbitrary: GROUP }, { weight: 1, arbitrary: V4 }), {
      maxLength: 8,
    }),
  )
  .map(([left, gap, right]) => left.join(':') + gap + right.join(':'))
const NOISE = fc
  .array(fc.constantFrom(...'0123456789aF::..%/ '), { maxLength: 20 })
  .map((characters) => characters.join(''))
const ANY_TEXT = fc.oneof(V4, V6, NOISE)

const WORD = fc
  .oneof(fc.constantFrom('00000000', 'ffffffff', '0000ffff'), fc.nat(2 ** 32 - 1))
  .map((word) => (typeof word === 'string' ? word : word.toString(16).padStart(8, '0')))
const IPS = fc
  .oneof(
    fc.array(fc.nat(255), { minLength: 4, maxLength: 4 }).map((bytes) => bytes.join('.')),
    fc
      .array(WORD, { minLength: 4, maxLength: 4 })
      .map((words) => (words.join('').match(/.{4}/g) as string[]).join(':')),
  )
  .map(parseIp)
  .filter((ip) => ip !== undefined)
const CIDRS = fc
  .tuple(IPS, fc.nat(128))
  .map(([ip, length]) => new Cidr(ip, ip.family === 4 ? length % 33 : length))

/** The same address except for one bit, or any other address. */
const NEARBY = fc.oneof(
  IPS.map((ip) => () => ip),
  fc.nat(127).map((bit) => (ip: Ip) => {
    const flip = (at: number, word: number) => (bit >> 5 === at ? word ^ (1 << (bit & 31)) : word)
    if (ip.family === 4) return new Ip(4, 0, 0, 0, flip(3, ip.w3))
    return new Ip(6, flip(0, ip.w0), flip(1, ip.w1), flip(2, ip.w2), flip(3, ip.w3))
  }),
)
