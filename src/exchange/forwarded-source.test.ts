import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { forwardedSource } from './forwarded-source.ts'
import { moveSource, sourceOf } from './peer.ts'

const peer = () => sourceOf('192.0.2.1', 4711) ?? assert.fail()

/** `PEER`: nothing in the list was trusted. `BAD`: the client is unknown. */
function seen(list: string | undefined, hops: number): string {
  const own = peer()
  const source = forwardedSource(own, list, hops)
  if (source === undefined) return 'BAD'
  return source === own ? 'PEER' : `${source.address.text} ${source.port}`
}

describe('the client in X-Forwarded-For', () => {
  for (const [list, hops, expected] of [
    [undefined, 1, 'PEER'],
    ['10.0.0.7', 1, '10.0.0.7 0'],
    ['10.0.0.7:80', 1, '10.0.0.7 80'],
    ['10.0.0.7 \t', 1, '10.0.0.7 0'],
    ['2001:db8::7', 1, '2001:db8::7 0'],
    ['2001:DB8:0::7:80', 1, '2001:db8::7:80 0'],
    ['[2001:db8::7]', 1, '2001:db8::7 0'],
    ['[2001:db8::7]:65535', 1, '2001:db8::7 65535'],
    ['::ffff:10.0.0.7', 1, '10.0.0.7 0'],
    ['[::ffff:10.0.0.7]:80', 1, '10.0.0.7 80'],
    ['1.1.1.1, 10.0.0.7', 1, '10.0.0.7 0'],
    ['1.1.1.1, 10.0.0.7', 2, '1.1.1.1 0'],
    ['1.1.1.1,10.0.0.7', 3, 'PEER'],
    ['evil, 1.1.1.1, 10.0.0.7', 2, '1.1.1.1 0'],
    [', 1.1.1.1', 1, '1.1.1.1 0'],
    ['', 1, 'BAD'],
    [' ', 1, 'BAD'],
    ['1.1.1.1,', 1, 'BAD'],
    ['1.1.1.1,,10.0.0.7', 2, 'BAD'],
    ['1.1.1.1, unknown', 1, 'BAD'],
    ['1.1.1.1, unknown', 2, 'BAD'],
    ['_hidden', 1, 'BAD'],
    ['evil', 2, 'BAD'],
    ['10.0.0.256', 1, 'BAD'],
    ['010.0.0.7', 1, 'BAD'],
    ['10.0.0.7:', 1, 'BAD'],
    ['10.0.0.7:65536', 1, 'BAD'],
    ['10.0.0.7:+1', 1, 'BAD'],
    ['10.0.0.7 80', 1, 'BAD'],
    ['10.0.0.0/8', 1, 'BAD'],
    ['"10.0.0.7"', 1, 'BAD'],
    ['[10.0.0.7]:80', 1, 'BAD'],
    ['[2001:db8::7', 1, 'BAD'],
    ['[2001:db8::7]80', 1, 'BAD'],
    ['[2001:db8::7]:', 1, 'BAD'],
    ['fe80::1%eth0', 1, 'BAD'],
    ['10.0.0.7', 0, 'PEER'],
  ] as const) {
    it(`${JSON.stringify(list)} behind ${hops}: ${expected}`, () => {
      assert.equal(seen(list, hops), expected)
    })
  }

  it('leaves the connection unchanged, and keeps the socket and the certificate', () => {
    const own = peer()
    moveSource(own, '198.51.100.1', 1)
    const certificate = { subject: 'CN=proxy', identity: 'spiffe://a/b' } as never
    own.certificate = certificate
    const source = forwardedSource(own, '10.0.0.7', 1) ?? assert.fail()
    assert.equal(own.address.text, '198.51.100.1')
    assert.deepEqual([source.rawAddress.text, source.rawPort], ['192.0.2.1', 4711])
    assert.equal(source.certificate, certificate)
  })

  it('is the entry at the given position from the right, whatever precedes it', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6())
    const trusted = fc.array(address, { minLength: 1, maxLength: 5 })
    const noise = fc.array(fc.oneof(address, fc.string({ unit: 'binary-ascii' })))
    fc.assert(
      fc.property(noise, trusted, (before, own) => {
        assert.equal(seen([...before, ...own].join(', '), own.length), seen(own[0], 1))
        assert.notEqual(seen(own[0], 1), 'BAD')
      }),
    )
  })

  it('accepts any string without throwing, and yields only valid addresses', () => {
    const piece = fc.constantFrom('1', '10.0.0.7', '::', ':', '[', ']', ',', ' ', '%', 'f', '.')
    fc.assert(
      fc.property(
        fc.array(piece).map((all) => all.join('')),
        fc.integer({ min: 0, max: 4 }),
        (list, hops) => {
          const response = seen(list, hops)
          const [text = ''] = response.split(' ')
          assert.ok(
            response === 'PEER' || response === 'BAD' || seen(text, 1) === `${text} 0`,
            list,
          )
        },
      ),
    )
  })
})
