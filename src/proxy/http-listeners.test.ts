import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { ListenerProgram } from '../program/program.ts'
import { HttpListeners } from './http-listeners.ts'

const LABELS = ['a', 'b', 'test']
const host = fc.array(fc.constantFrom(...LABELS), { minLength: 1, maxLength: 4 })
const hostname = fc.option(
  fc.tuple(fc.boolean(), host).map(([isWild, labels]) => {
    return isWild ? `*.${labels.join('.')}` : labels.join('.')
  }),
  { nil: undefined },
)

/** How well a name fits a host: the number of its labels, one more for an exact one; 0: not. */
function fit(name: string | undefined, host: string): number {
  if (name === undefined) return 1
  if (name === host) return 100
  const [first, ...rest] = name.split('.')
  const labels = host.split('.')
  if (first !== '*' || labels.length <= rest.length) return 0
  return labels.slice(-rest.length).join('.') === rest.join('.') ? 1 + rest.length : 0
}

it('a request is for the listener with the most specific name, the first of equal ones', () => {
  fc.assert(
    fc.property(fc.array(hostname, { maxLength: 6 }), host, (names, labels) => {
      const programs = names.map((name, index) => {
        return { listener: { name: `${index}`, hostname: name } } as ListenerProgram
      })
      const asked = labels.join('.')
      const fits = names.map((name) => fit(name, asked))
      const best = Math.max(0, ...fits)
      const expected = best === 0 ? undefined : programs[fits.indexOf(best)]
      assert.equal(new HttpListeners(programs).forHost(asked), expected)
    }),
    { numRuns: 500, seed: 26 },
  )
})
