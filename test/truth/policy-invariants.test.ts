import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AttackedServices } from './attacked-services.ts'
import { CALL_OUT_ATTACKS } from './call-out-attacks.ts'
import { parseExact, probeFor } from './claims-diff.ts'
import { type Tree, writeYaml } from './document.ts'
import { FRONTEND_ATTACKS } from './frontend-attacks.ts'
import { POLICY_ATTACKS } from './policy-attacks.ts'
import type { SentRequest } from './protocol-attacks.ts'
import { runTools } from './tools.ts'
import { isAdmitted, type Probe } from './wire.ts'

/*
 * For every file of these attacks: an admitted request violates an invariant made for it, so none
 * of these invariants is proven; and a counterexample is an admitted request.
 */

interface Verdict {
  readonly kind: 'proven' | 'refuted' | 'not known'
  readonly examples?: readonly {
    readonly listener: string
    readonly example: Parameters<typeof probeFor>[0]['example'] & {
      readonly identity: object
      readonly message?: object
    }
  }[]
}

const FILES = [...CALL_OUT_ATTACKS, ...POLICY_ATTACKS, ...FRONTEND_ATTACKS]
  // Counters live on from one file to the other.
  .filter(({ name }) => !/limit|enough/.test(name))
  .flatMap(({ name, old, now, requests }) => [
    { name: `${name}, before`, file: old, requests },
    { name: `${name}, after`, file: now, requests },
  ])

describe('attacks on proofs about all admitted requests', () => {
  let attacked: AttackedServices
  before(async () => {
    attacked = await AttackedServices.open()
  })
  after(() => attacked.close())

  const probeOf = ({ method = 'GET', target = '/', isHttp2, ...own }: SentRequest): Probe => {
    const transport = { port: attacked.addresses.port, ...(isHttp2 && { isHttp2 }) }
    const { headers = [], body } = own
    const request = { method, target, version: '1.1', host: 'a.test', headers } as const
    return { transport, request: { ...request, ...(body !== undefined && { body }) } }
  }

  async function verdictsOn(
    tree: Tree,
    conditions: readonly string[],
  ): Promise<readonly Verdict[]> {
    const { world } = attacked
    world.write('proven.yaml', tree)
    const invariants = conditions.map((admitted, index) => ({ name: `i${index}`, admitted }))
    const { text } = writeYaml({ name: 'suite', config: 'proven.yaml', invariants })
    const { out } = await runTools(['prove', world.writeText('suite.yaml', text), '--json'])
    const { suites } = parseExact(out) as {
      readonly suites: readonly { readonly invariants: readonly { answer: Verdict }[] }[]
    }
    return (suites[0]?.invariants ?? []).map(({ answer: verdict }) => verdict)
  }

  for (const { name, file, requests } of FILES) {
    it(name, async () => {
      const { world, addresses } = attacked
      const tree = attacked.fileOf(file(addresses))
      if (JSON.stringify(tree).includes('"tcpRoutes"')) return
      assert.equal(await world.serve(world.write('served.yaml', tree)), undefined)
      const seen = (await world.send(requests.map(probeOf))).map(isAdmitted)
      const broken = requests.map(({ method = 'GET', target = '/' }) => {
        return `request.method != '${method}' || request.pathAndQuery != '${target}'`
      })
      const verdicts = await verdictsOn(tree, [...broken, "request.method == 'GET'", 'false'])
      assert.equal(verdicts.length, broken.length + 2)
      for (const [index, { kind, examples = [] }] of verdicts.entries()) {
        assert.ok(kind !== 'proven' || seen[index] !== true, `proven: ${broken[index]}`)
        for (const { listener, example } of examples) {
          if (Object.keys(example.identity).length > 0 || example.message !== undefined) continue
          const probe = probeFor({ listener, example }, { tree } as never, false)
          if (probe === undefined) continue
          const [outcome] = await world.send([probe])
          assert.ok(outcome && isAdmitted(outcome), `not so: ${JSON.stringify(example)}`)
        }
      }
    })
  }
})
