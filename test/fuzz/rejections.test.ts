import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import { NEAREST, type Rejecting, sendRaw, startRejecting } from '../decisions/rejecting.ts'
import { assertProperty } from './assert-property.ts'
import { ALWAYS, CAUSES, type Drawn, drawn, textOf } from './rejected-requests.ts'
import { fuzz } from './runs.ts'

/** The rule that is nearest, by the definition: subjects, then misses, then hits, then order. */
function nearestOf({ method, rest, headers }: Drawn): number {
  const holds = (atom: string): boolean => {
    if (atom.startsWith('request.method')) return method === 'PUT'
    if (atom.startsWith('request.path')) return rest.startsWith('/deep')
    const [, name = 'x-all'] = /\['(x-[ab])'\]/.exec(atom) ?? []
    // Several lines of a header are one value.
    const lines = headers.filter((line) => line.startsWith(`${name}: `))
    return lines.length === 1 && lines[0] === `${name}: 1`
  }
  const ranks = NEAREST.map((atoms) => {
    const misses = atoms.filter((atom) => !holds(atom))
    const isOther = misses.some((atom) => /^request\.(?:method|path)/.test(atom))
    return [isOther ? 1 : 0, misses.length, misses.length - atoms.length]
  })
  const isLess = (a: readonly number[], b: readonly number[]) => {
    const at = a.findIndex((value, index) => value !== b[index])
    return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0)
  }
  return ranks.reduce((best, rank, at) => (isLess(rank, ranks[best] ?? []) ? at : best), 0)
}

const isMade = ({ skipped, enforced, verdict }: DecisionRecord) =>
  skipped !== true && enforced && verdict !== 'allowed'

describe('a rejection of the gateway', () => {
  let gateway: Rejecting

  before(async () => {
    gateway = await startRejecting()
  })

  after(() => gateway.close())

  it('has one record, with the id and the status of the response and a cause that is true', async () => {
    await assertProperty(
      'rejections',
      fc.asyncProperty(drawn, async (one) => {
        const text = await sendRaw(gateway.ports[one.to], textOf(one))
        // Bytes of another protocol get no response.
        if (text === '') return
        const status = Number(text.slice(9, 12))
        const [head = '', ...rest] = text.split('\r\n\r\n')
        const id = /^x-request-id: (.+)$/im.exec(head)?.[1] ?? assert.fail(`no id: ${text}`)
        const records = gateway.own.decisions({ id })
        const [made, ...more] = records.filter(isMade)
        assert.deepEqual(more, [], 'one record')
        const line = gateway.own.lines.findLast((own) => own.includes(id)) ?? ''
        const isOfBackend = / reason=upstream\b/.test(line) && made === undefined
        const isError = /^\{"jsonrpc":"2.0","id":[^,]+,"error"/.test(rest.join('\r\n\r\n'))
        if (status < 400 && !isError) {
          const isOther = made === undefined || made.cause === 'cors-preflight'
          assert.ok(isOther, 'no record of a denial for a response that does not reject')
          return
        }
        // A status of a server, in the words of the gateway, is still the server's.
        if (isOfBackend && (status >= 400 || !isError)) return
        const { status: recorded, cause, nearest } = made ?? assert.fail(`no record: ${text}`)
        assert.equal(recorded, status)
        const causes = [...ALWAYS, ...(CAUSES[one.route] ?? []), ...elsewhere(one)]
        assert.ok(causes.includes(cause), `${cause} is none of ${causes}`)
        // The only key of models is another one.
        if (one.route.startsWith('v1/') && cause === 'credentials') {
          assert.ok(one.headers.includes('authorization: Bearer sk-a'))
        }
        if (one.route === 'nearest' && cause === 'no-allow-match') {
          assert.equal(nearest?.index, nearestOf(one))
        }
      }),
      fuzz(0.5),
    )
  })
})

/** Other ports have other routes. */
function elsewhere({ to, rest }: Drawn): readonly string[] {
  if (to !== 'default' || rest === '/../x') return ['no-route', 'no-backend', 'authorization']
  return []
}
