import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { corpusOf, recordFind } from '../corpus/corpus.ts'
import { fuzz } from '../fuzz/runs.ts'
import { type Tree, writeYaml } from './document.ts'
import { withFeatures } from './features.ts'
import { LOGIN, World } from './gateways.ts'
import { makeDocument } from './generate.ts'
import { proxyProtocolOf } from './places.ts'
import { portsOf } from './probes.ts'
import {
  OFFERED,
  PROTOCOL_PARTS,
  type ProtocolPart,
  type ProtocolRequest,
} from './protocol-parts.ts'
import { Random } from './random.ts'
import { runTools, type Tools } from './tools.ts'

/*
 * The oracle of ./judge.ts sends requests without a meaning in any protocol. Here a random file has
 * one more route, to tools, agents or models or with limits, and the other file of the pair has
 * another one in its place. If `diff` reports that nothing changes, the sockets must agree.
 */

const NAME = 'protocol-parts'
const HOST = 'protocol.test'
const COMPLETION = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
const MESSAGE = {
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
  content: [{ type: 'text', text: 'x' }],
  usage: { input_tokens: 1, output_tokens: 1 },
}

/** The response of a tool, an agent or a model. */
function responseTo(url: string, text: string): object {
  if (url.includes('/messages')) return MESSAGE
  if (url.includes('/completions')) return COMPLETION
  if (url.includes('agent-card')) return { name: 'agent', url: 'http://agent.test/' }
  const result = text.includes('tools/list')
    ? { tools: OFFERED.map((name) => ({ name, inputSchema: { type: 'object' } })) }
    : { content: [{ type: 'text', text: 'done' }] }
  return { jsonrpc: '2.0', id: 1, result }
}

interface Drawn {
  readonly part: string
  readonly port: number
  readonly old: Tree
  readonly now: Tree
}

describe('statements about tools, agents, models and limits', () => {
  let world: World
  let backend: Server
  let host = ''
  /** Requests that reached the backend. */
  let reached = 0
  before(async () => {
    world = await World.open()
    backend = createServer((message, response) => {
      let text = ''
      message.on('data', (bytes: Buffer) => void (text += bytes.toString()))
      message.on('end', () => {
        // Lists that the gateway fetches for itself do not count.
        if (!text.includes('tools/list')) reached++
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(responseTo(message.url ?? '', text)))
      })
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => backend.once('listening', resolve))
    host = `127.0.0.1:${(backend.address() as AddressInfo).port}`
  })
  after(async () => {
    await world.close()
    backend.close()
    backend.closeAllConnections()
  })

  /** Undefined: the file has no port that a plain client can use. */
  function draw(seed: number): Drawn | undefined {
    const random = new Random(seed)
    const names = Object.keys(PROTOCOL_PARTS)
    const part = names[seed % names.length] as string
    const { draw: drawPart } = PROTOCOL_PARTS[part] as ProtocolPart
    const plain = withFeatures(new Random(seed + 1), makeDocument(random, world.place), world.place)
    const { port } = portsOf(plain).find(({ isSecure }) => !isSecure) ?? {}
    if (port === undefined || proxyProtocolOf(plain) !== undefined) return undefined
    // Rules of the gateway would deny nearly all requests to the route.
    const gateways = Object.fromEntries(
      Object.entries(plain['gateways'] as Tree).map(([name, gateway]) => {
        const { authorization: _, jwtAuthentication: __, ...rest } = gateway as Tree
        return [name, random.chance(0.8) ? rest : (gateway as Tree)]
      }),
    )
    const routes = plain['routes'] as readonly Tree[]
    const tree = (own: Tree): Tree => ({
      ...{ ...plain, gateways },
      routes: [{ name: 'protocol', hostnames: [HOST], ...own }, ...routes],
    })
    const [first, second] = [drawPart(random, host), drawPart(random, host)]
    // Often only a part of the other.
    const mixed = random.pick<Tree>([second, { ...first, policies: second['policies'] ?? {} }])
    return { part, port, old: tree(first), now: tree(mixed) }
  }

  function send(port: number, own: ProtocolRequest): Promise<string> {
    return new Promise((resolve) => {
      const { method, path, body, headers } = own
      const sent = request(
        {
          ...{ host: '127.0.0.1', port, method, path, agent: false },
          headers: {
            host: HOST,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            authorization: `Bearer ${world.credentials.token('{"sub":"alice"}', 'valid')}`,
            ...headers,
          },
        },
        (response) => {
          let text = ''
          response.on('data', (bytes: Buffer) => void (text += bytes.toString()))
          response.on('end', () => resolve(outcomeOf(response, text)))
        },
      )
      // A closed connection is a denial, too.
      sent.on('error', () => resolve('refused')).end(body)
    })
  }

  /**
   * Whether the request is admitted, and which tools a client sees; not the cause or the wording. A
   * redirect to sign-in is a denial for those who are not signed in.
   */
  function outcomeOf({ statusCode = 0, headers }: IncomingMessage, text: string): string {
    const names = [...text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name)
    const isError = text.includes('"error":')
    const shown = text.includes('"tools":') ? ` ${names.toSorted().join()}` : ''
    const isSignIn = headers.location === LOGIN.location
    return `${statusCode < 400 && !isError && !isSignIn ? 'admitted' : 'refused'}${shown}`
  }

  async function outcomes(tree: Tree, port: number, requests: readonly ProtocolRequest[]) {
    const unserved = await world.serve(world.write('protocol.yaml', tree))
    if (unserved !== undefined) return undefined
    const all: string[] = []
    for (const one of requests) {
      const before = reached
      const outcome = await send(port, one)
      all.push(`${outcome}${reached > before ? ', forwarded' : ''}`)
    }
    return all
  }

  async function saysNothing(tools: Tools, { old, now }: Drawn): Promise<boolean> {
    const files = [world.write('protocol-old.yaml', old), world.write('protocol-now.yaml', now)]
    const said = await tools(['diff', ...files, '--json', '--fail-on-newly-admitted'])
    const { differences, untold } = JSON.parse(said.out) as Record<string, readonly unknown[]>
    return differences?.length === 0 && untold?.length === 0
  }

  /** Undefined: not served; otherwise the false statements. */
  async function judge(
    tools: Tools,
    drawn: Drawn,
  ): Promise<'proven' | 'told' | string | undefined> {
    const { part, port, old, now } = drawn
    const { requests } = PROTOCOL_PARTS[part] as ProtocolPart
    const before = await outcomes(old, port, requests)
    // Limits keep their counters if the routes that have them are the same.
    await world.serve(world.write('between.yaml', { gateways: old['gateways'] as Tree }))
    const after = await outcomes(now, port, requests)
    if (before === undefined || after === undefined) return undefined
    changed += Number(before.join() !== after.join())
    admitted += Number(before.some((one) => one.startsWith('admitted')))
    if (!(await saysNothing(tools, drawn))) return 'told'
    const at = requests.findIndex((_, index) => before[index] !== after[index])
    if (at < 0) return 'proven'
    const shown = (tree: Tree) =>
      writeYaml({ routes: [(tree['routes'] as Tree[])[0] as Tree] }).text
    return [
      `${JSON.stringify(requests[at])}: ${before[at]} -> ${after[at]}`,
      shown(old),
      shown(now),
    ].join('\n')
  }

  let changed = 0
  let admitted = 0
  const { numRuns, seed: first } = fuzz(0.01, 24)

  it(`holds for ${numRuns} pairs of files on real sockets`, async () => {
    const counts = new Map<string, number>()
    const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1)
    const failures: string[] = []
    const stored = corpusOf(NAME).flatMap(({ seed }) => (seed === undefined ? [] : [seed]))
    for (const seed of [...stored, ...Array.from({ length: numRuns }, (_, n) => first + n)]) {
      const drawn = draw(seed)
      const judged = drawn === undefined ? undefined : await judge(runTools, drawn)
      const isKnown = judged === undefined || judged === 'told' || judged === 'proven'
      count(judged === undefined ? 'not served' : isKnown ? judged : 'FALSE')
      if (isKnown) continue
      failures.push(`seed ${seed}, ${drawn?.part}: ${judged}`)
      recordFind({ name: NAME, entry: { note: `${drawn?.part}: ${judged}`, seed }, error: judged })
    }
    console.log(`${JSON.stringify(Object.fromEntries(counts))}, ${changed} that changed`)
    assert.deepEqual(failures.slice(0, 3), [])
    const served = numRuns - (counts.get('not served') ?? 0)
    assert.ok(served > numRuns / 3, `${served} of ${numRuns} are served`)
    assert.ok(admitted > served / 4, `${admitted} of ${served} admit anyone`)
  })

  it('is found to be false for a tool that never sees a difference', async () => {
    const blind: Tools = async () => ({ code: 0, out: '{"differences":[],"untold":[]}', err: '' })
    const found = new Set<string>()
    for (let seed = 1; seed < 200 && found.size < Object.keys(PROTOCOL_PARTS).length; seed++) {
      const drawn = draw(seed)
      if (drawn === undefined || found.has(drawn.part)) continue
      const judged = await judge(blind, drawn)
      if (judged !== undefined && judged !== 'proven') found.add(drawn.part)
    }
    assert.deepEqual([...found].toSorted(), Object.keys(PROTOCOL_PARTS).toSorted())
  })
})
