import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AttackedServices } from './attacked-services.ts'
import { CALL_OUT_ATTACKS } from './call-out-attacks.ts'
import { CHANGED_ATTACKS } from './changed-attacks.ts'
import { parseExact, probeFor, withOnlyProvider } from './claims-diff.ts'
import { type Tree, writeYaml } from './document.ts'
import { FRONTEND_ATTACKS } from './frontend-attacks.ts'
import { sessionCookie } from './gateways.ts'
import { KEY_ATTACKS } from './key-attacks.ts'
import { PIN_ATTACKS, pinned } from './pin-attacks.ts'
import { POLICY_ATTACKS } from './policy-attacks.ts'
import { PROTOCOL_ATTACKS, type ProtocolAttack, type SentRequest } from './protocol-attacks.ts'
import { SERVICE_ATTACKS, SERVICE_INVARIANTS } from './service-attacks.ts'
import { INVARIANT_ATTACKS, STREAM_ATTACKS } from './stream-attacks.ts'
import { runTools } from './tools.ts'
import { isAdmitted, type Probe } from './wire.ts'

/*
 * Pairs that differ in exactly one feature that models, tools, sign-in, connections or services
 * have and plain requests do not. Claims about them are compared with the behavior of sockets.
 */

interface Difference {
  readonly kind: 'admitted' | 'refused'
  readonly listener: string
  readonly provider?: string
  readonly services: readonly string[]
  readonly isOverLimit?: true
  readonly example: Parameters<typeof probeFor>[0]['example'] & {
    readonly message?: { readonly body: string }
  }
}

describe('attacks on proven statements about protocols', () => {
  let attacked: AttackedServices
  before(async () => {
    attacked = await AttackedServices.open()
    await writePins(attacked)
  })
  after(() => attacked.close())

  const probeOf = ({ sni, session, user: _, isHttp2, ...own }: SentRequest): Probe => {
    const more = session === undefined ? [] : [sessionCookie(session)]
    const request = { ...own, headers: [...(own.headers ?? []), ...more] }
    const usual = { method: 'GET', target: '/', version: '1.1', headers: [] } as const
    const { port } = attacked.addresses
    const tls = sni === undefined ? {} : { tls: { sni } }
    const spoken = isHttp2 ? { isHttp2 } : {}
    return {
      transport: { port, ...tls, ...spoken },
      request: { ...usual, host: sni ?? 'a.test', ...request },
    }
  }

  async function outcomes(tree: Tree, probes: readonly Probe[], isMcp: boolean) {
    const { world } = attacked
    // Removing the routes resets their counters and state.
    await world.serve(world.write('between.yaml', attacked.fileOf({})))
    assert.equal(await world.serve(world.write('served.yaml', tree)), undefined)
    if (!isMcp) return (await world.send(probes)).map(isAdmitted)
    const all: boolean[] = []
    for (const { request } of probes) all.push(await attacked.message(request))
    return all
  }

  function argsOf({
    sni,
    session,
    claims = session,
    key,
    user,
    ...request
  }: SentRequest): string[] {
    const { method = 'GET', target = '/', headers = [], body, isHttp2 } = request
    const line = `${method} ${target}${isHttp2 ? ' HTTP/2' : ''}`
    return [
      ...['-r', line, '-H', `host: ${sni ?? 'a.test'}`, '--listener', 'default'],
      ...headers.flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      ...(body === undefined ? [] : ['--body', body]),
      ...(claims === undefined ? [] : ['--claims', claims]),
      ...(key === undefined ? [] : ['--api-key', JSON.stringify(key)]),
      ...(sni === undefined ? [] : ['--sni', sni]),
      ...(user === undefined ? [] : ['--user', user]),
    ]
  }

  /** Sends the example as reported to both. */
  async function isTrue(difference: Difference, old: Tree, now: Tree) {
    const { kind, listener, provider, example, services, isOverLimit = false } = difference
    const sides = kind === 'admitted' ? [now, old] : [old, now]
    const [admitting = {}, rejecting = {}] = sides.map((tree) => withOnlyProvider(tree, provider))
    const probe = probeFor({ example, listener }, { tree: admitting } as never, false)
    // No client here has such a session, and the verdict of a service was not tested.
    if (probe === undefined || services.length > 0) return true
    const { message } = example
    const more: [string, string][] =
      message === undefined ? [] : [['content-type', 'application/json']]
    const headers = [...probe.request.headers, ...more]
    const body = message === undefined ? {} : { body: message.body }
    const sent = { ...probe, request: { ...probe.request, headers, ...body } }
    const isMcp = JSON.stringify(admitting).includes('"targets"')
    const [yes] = await outcomes(admitting, [sent], isMcp)
    const count = isOverLimit ? limitIn(rejecting) + 1 : 1
    if (count > MAX_SENT) return yes === true
    const no = (await outcomes(rejecting, Array(count).fill(sent), isMcp)).at(-1)
    return yes === true && no === false
  }

  async function judge(attack: ProtocolAttack): Promise<void> {
    const { old, now, requests, isSame = false, isUntold = !isSame, isOfKeys } = attack
    const { world, addresses } = attacked
    const [was, is] = [attacked.fileOf(old(addresses)), attacked.fileOf(now(addresses))]
    const isMcp = JSON.stringify(was).includes('"targets"')
    const probes = requests.map(probeOf)
    const before = await outcomes(was, probes, isMcp)
    const after = await outcomes(is, probes, isMcp)
    if (isSame) assert.deepEqual(before, after)
    else assert.notEqual(before[0], after[0])
    const files = [world.write('old.yaml', was), world.write('now.yaml', is)] as const
    const { out, err } = await runTools(['diff', ...files, '--json'])
    assert.equal(err, '')
    const { differences, untold } = parseExact(out) as {
      readonly differences: readonly Difference[]
      readonly untold: readonly unknown[]
    }
    if (isUntold) assert.ok(differences.length + untold.length > 0, 'nothing changes: proven')
    for (const difference of differences) {
      assert.ok(await isTrue(difference, was, is), `not so: ${JSON.stringify(difference)}`)
    }
    for (const [file, seen] of [
      [files[0], before],
      [files[1], after],
    ] as const) {
      for (const [index, request] of isOfKeys ? [] : requests.entries()) {
        const said = await runTools(['explain', '-f', file, ...argsOf(request), '--json'])
        if (/"outcome": "not-known"/.test(said.out)) continue
        assert.equal(said.code === 0, seen[index], `${said.out}${said.err}`)
      }
      const unfixed = readFileSync(file, 'utf8')
      await runTools(['lint', '--fix', file])
      if (readFileSync(file, 'utf8') === unfixed) continue
      assert.equal(await world.serve(file), undefined)
      assert.deepEqual((await world.send(probes)).map(isAdmitted), seen)
    }
  }

  const services = [...SERVICE_ATTACKS, ...PIN_ATTACKS]
  for (const attack of [...PROTOCOL_ATTACKS, ...KEY_ATTACKS, ...STREAM_ATTACKS, ...services])
    it(attack.name, () => judge(attack))

  for (const { name, old, now, request } of CHANGED_ATTACKS) {
    it(name, async () => {
      const { addresses } = attacked
      const isMcp = JSON.stringify(old(addresses)).includes('"targets"')
      const trees = [attacked.fileOf(old(addresses)), attacked.fileOf(now(addresses))] as const
      const [was] = await outcomes(trees[0], [probeOf(request)], isMcp)
      const [is] = await outcomes(trees[1], [probeOf(request)], isMcp)
      await judge({ name, old, now, requests: [request], ...(was === is && { isSame: true }) })
    })
  }

  for (const { name, old, now, requests, isUntold } of [
    ...CALL_OUT_ATTACKS,
    ...POLICY_ATTACKS,
    ...FRONTEND_ATTACKS,
  ]) {
    it(name, async () => {
      const { addresses } = attacked
      const trees = [attacked.fileOf(old(addresses)), attacked.fileOf(now(addresses))] as const
      const probes = requests.map(probeOf)
      const [was, is] = [
        await outcomes(trees[0], probes, false),
        await outcomes(trees[1], probes, false),
      ]
      const isSame = requests.every((_, index) => was[index] === is[index])
      const first = requests.findIndex((_, index) => was[index] !== is[index])
      const ordered = isSame ? requests : [requests[first] as SentRequest, ...requests]
      const more = { ...(isSame && { isSame }), ...(isUntold && { isUntold }) }
      await judge({ name, old, now, requests: ordered, ...more })
    })
  }

  for (const one of [...INVARIANT_ATTACKS, ...SERVICE_INVARIANTS]) {
    const { name, file, on, admitted, request, verdict } = one
    it(name, async () => {
      const { world, addresses } = attacked
      const tree = attacked.fileOf(file(addresses))
      world.write('proven.yaml', tree)
      // A request that violates it, or nearly does, is admitted.
      if (request !== undefined)
        assert.deepEqual(await outcomes(tree, [probeOf(request)], false), [true])
      const invariants = [{ name, on, admitted }]
      const suite = writeYaml({ name: 'suite', config: 'proven.yaml', invariants }).text
      const { out } = await runTools(['prove', world.writeText('suite.yaml', suite), '--json'])
      const { suites } = parseExact(out) as {
        readonly suites: readonly { readonly invariants: readonly { answer: { kind: string } }[] }[]
      }
      assert.equal(suites[0]?.invariants[0]?.answer.kind, verdict, out)
    })
  }
})

/** Limits that are higher are not reached. */
const MAX_SENT = 100

/** The lowest limit of a configuration, whatever it counts. */
function limitIn(tree: Tree): number {
  const limits = JSON.stringify(tree).matchAll(/"(?:requests|tokens)":(\d+)/g)
  return Math.min(...[...limits].map(([, count]) => Number(count)))
}

/** Pins of all tools, of a single one, and of a modified one. */
async function writePins(attacked: AttackedServices): Promise<void> {
  const { world, addresses } = attacked
  const file = world.write(
    'pin.yaml',
    attacked.fileOf(pinned('Enforce', 'all.pins.json')(addresses)),
  )
  assert.equal((await runTools(['pin', file])).code, 0)
  const { targets, ...rest } = JSON.parse(readFileSync(join(world.folder, 'all.pins.json'), 'utf8'))
  const { read, write } = targets.one
  const write_ = { ...write, inputSchema: `sha256:${'0'.repeat(64)}` }
  for (const [name, one] of [
    ['few', { read }],
    ['wrong', { read, write: write_ }],
  ] as const) {
    world.writeText(`${name}.pins.json`, JSON.stringify({ ...rest, targets: { one } }))
  }
}
