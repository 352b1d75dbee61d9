import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { positionAt } from './document.ts'
import { loadText } from './load.ts'

describe('the position of an offset', () => {
  it('counts code points from the start of its line', () => {
    const letter = fc.constantFrom('a', 'é', '😀', '\n', '\ud83d', '\ude00')
    fc.assert(
      fc.property(fc.array(letter, { maxLength: 40 }), fc.nat(80), (letters, at) => {
        const text = letters.join('')
        const offset = Math.min(at, text.length)
        const lines = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
        const before = text.slice(0, offset).split('\n')
        const units = (before.at(-1) ?? '').split('')
        const low = units.filter((unit) => /[\udc00-\udfff]/.test(unit)).length
        const { line, column } = positionAt({ file: 'f', text, lines }, offset)
        assert.deepEqual([line, column], [before.length, 1 + units.length - low])
      }),
    )
  })

  it('costs the same in a file of one line as in one of many', () => {
    const routes = Array.from({ length: 300 }, (_, index) => ({
      name: `r${index}`,
      matches: [{ path: { pathPrefix: `/${index}` } }],
      policies: {
        authorization: {
          rules: Array.from({ length: 10 }, (__, rule) => ({
            allow: `request.path == '/${rule}'`,
          })),
        },
      },
      backends: [{ host: 'a:80' }],
    }))
    const written = { gateways: { default: { port: 8080 } }, routes }
    const costOf = (text: string) => {
      const before = process.cpuUsage().user
      const { diagnostics } = loadText(text, 'f.json', { environment: {} }).result
      assert.deepEqual(diagnostics, [])
      return process.cpuUsage().user - before
    }
    costOf(JSON.stringify({ ...written, routes: routes.slice(0, 50) }))
    const many = costOf(JSON.stringify(written, undefined, 1))
    const one = costOf(JSON.stringify(written))
    assert.ok(one < 3 * many + 200_000, `${one} and ${many} microseconds`)
  })
})
