import fc from 'fast-check'
import { quoted } from '../fuzz/cel-values.ts'

/** Strings that are addresses, networks, or almost: input of hostile clients and typos of users. */
export function networkExpression(): fc.Arbitrary<string> {
  const text = fc.oneof({ weight: 3, arbitrary: address() }, network(), broken())
  const range = fc.oneof({ weight: 4, arbitrary: network() }, address(), broken())
  const test = fc.constantFrom(
    ...`family() isUnspecified() isLoopback() isLinkLocalMulticast() isLinkLocalUnicast()
        isGlobalUnicast()`.split(/\s+/),
  )
  return fc.oneof(
    text.map((a) => `isIP(${quoted(a)})`),
    text.map((a) => `string(ip(${quoted(a)}))`),
    text.map((a) => `ip.isCanonical(${quoted(a)})`),
    fc.tuple(text, test).map(([a, t]) => `ip(${quoted(a)}).${t}`),
    fc.tuple(text, text).map(([a, b]) => `ip(${quoted(a)}) == ip(${quoted(b)})`),
    range.map((a) => `isCIDR(${quoted(a)})`),
    range.map((a) => `string(cidr(${quoted(a)}))`),
    range.map((a) => `string(cidr(${quoted(a)}).masked())`),
    range.map((a) => `string(cidr(${quoted(a)}).ip())`),
    range.map((a) => `cidr(${quoted(a)}).prefixLength()`),
    fc.tuple(range, text).map(([a, b]) => `cidr(${quoted(a)}).containsIP(${quoted(b)})`),
    fc.tuple(range, text).map(([a, b]) => `cidr(${quoted(a)}).containsIP(ip(${quoted(b)}))`),
    fc.tuple(range, range).map(([a, b]) => `cidr(${quoted(a)}).containsCIDR(${quoted(b)})`),
    fc.tuple(range, range).map(([a, b]) => `cidr(${quoted(a)}).containsCIDR(cidr(${quoted(b)}))`),
    fc.tuple(range, range).map(([a, b]) => `cidr(${quoted(a)}) == cidr(${quoted(b)})`),
  )
}

/** Few bits are set, so that networks often contain each other and addresses. */
const byte = fc.constantFrom(0, 1, 10, 127, 128, 169, 172, 192, 224, 254, 255)
const word = fc.constantFrom(
  '0',
  '1',
  'a',
  'fe80',
  'ff02',
  'ffff',
  '2001',
  'db8',
  '7f00',
  '0db8',
  'FFFF',
)

function address(): fc.Arbitrary<string> {
  const v4 = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.'))
  const v6 = fc.array(word, { minLength: 8, maxLength: 8 }).map((words) => words.join(':'))
  const short = fc
    .tuple(fc.array(word, { maxLength: 4 }), fc.array(word, { maxLength: 3 }))
    .map(([head, tail]) => `${head.join(':')}::${tail.join(':')}`)
  const mixed = fc
    .tuple(fc.constantFrom('::', '::ffff:', '64:ff9b::', '1:2:3:4:5:6:'), v4)
    .map(([a, b]) => a + b)
  return fc.oneof({ weight: 3, arbitrary: v4 }, v6, { weight: 2, arbitrary: short }, mixed)
}

function network(): fc.Arbitrary<string> {
  const length = fc.oneof(fc.integer({ min: 0, max: 32 }), fc.integer({ min: 0, max: 129 }))
  return fc.tuple(address(), length).map(([text, bits]) => `${text}/${bits}`)
}

function broken(): fc.Arbitrary<string> {
  const wound = fc.constantFrom(
    ...[
      '%eth0',
      '%25',
      ' ',
      '\n',
      '.',
      ':',
      '::',
      '0',
      '/',
      '/8',
      '/08',
      '/+8',
      '/-1',
      '/ 8',
      '/8/8',
      'g',
      '\u0661',
      '\u0000',
      ',',
      '[',
      ']',
    ],
  )
  const place = fc.double({ min: 0, max: 1, noNaN: true })
  const wounded = fc.tuple(fc.oneof(address(), network()), wound, place).map(([text, by, at]) => {
    const cut = Math.floor(at * (text.length + 1))
    return text.slice(0, cut) + by + text.slice(cut)
  })
  const known = fc.constantFrom(
    '',
    '0',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.256',
    '0x7f.1',
    '127.1',
    '::1::',
    ':::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '::00001',
    '1.2.3.4/',
    '/8',
    '::/0',
    '0.0.0.0/0',
    'localhost',
    '::1.2.3',
    '::1.2.3.04',
  )
  return fc.oneof({ weight: 2, arbitrary: wounded }, known)
}
