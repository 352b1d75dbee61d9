// One error anywhere in a configuration that is applied part by part. Clients that were denied stay
// denied, over real sockets, and a gateway that was edited behaves like one that starts with that
// configuration.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { loadServable } from '../../src/cli/check-model.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import { locateAll } from '../../src/diagnostics/places.ts'
import type { Model } from '../../src/model/model.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { KnownItems } from '../../src/sources/file/known-items.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { free } from '../proxy/accepting.ts'
import { startServer } from '../proxy/governed.ts'
import { steady } from '../steady-settings.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { Random } from '../truth/random.ts'
import { assertSeeds } from './assert-property.ts'
import { guardedConfiguration, type Json, type Ports, PROBES, SERVED } from './guarded-parts.ts'
import { fuzz } from './runs.ts'

type Path = readonly (string | number)[]

/** Replacements for a value. */
const WRONG: readonly Json[] = [null, {}, [1], 'a b((', '', -1, 'nobody', 99_999_999_999]

function* pathsIn(value: Json, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    const step = Array.isArray(value) ? Number(key) : key
    yield* pathsIn((value as Record<string, Json>)[key] as Json, [...path, step])
  }
}

/** Adds one error: a wrong value, an unknown key or a duplicate item. */
function spoil(config: Json, path: Path, random: Random): void {
  const last = path.at(-1) as string
  const outer = path.slice(0, -1).reduce((own, key) => (own as never)[key], config) as never
  const fields = outer as Record<string, Json>
  const own = fields[last] as Json
  if (random.chance(0.6)) fields[last] = random.pick(WRONG)
  else if (Array.isArray(outer)) (outer as Json[]).push(structuredClone(own))
  else if (random.chance(0.5)) {
    for (const [key, value] of Object.entries(fields)) {
      delete fields[key]
      fields[key === last ? `${key}x` : key] = value
    }
  } else fields['zzz'] = {}
}

/** A gateway and its configuration file, which the test edits. */
class Side {
  readonly #file: string
  readonly #known = new KnownItems()
  #gateway: Gateway | undefined
  #model: Model | undefined

  constructor(file: string) {
    this.#file = file
  }

  /** Returns the errors, or undefined if the configuration is rejected as a whole. */
  async apply(text: string): Promise<readonly Diagnostic[] | undefined> {
    writeFileSync(this.#file, text)
    const options = { before: this.#model, isStrict: false, known: this.#known }
    const { result, settings, places } = await loadServable(this.#file, {}, options)
    const { value, diagnostics } = result
    if (value === undefined || settings === undefined) return undefined
    const log = createLogger({ format: 'json', level: 'error', write: () => {} })
    const own = { settings: steady(settings), log, metrics: createMetrics(), reusePort: false }
    this.#gateway ??= new Gateway(own)
    const applied = await this.#gateway.apply(value, false)
    assert.ok(applied.isApplied)
    this.#model = value
    return [...diagnostics, ...locateAll(places, applied.diagnostics)].filter(
      ({ severity }) => severity === 'error',
    )
  }

  async stop(): Promise<void> {
    await this.#gateway?.drain()
  }
}

describe('one error in a configuration', { skip: WITHOUT_OPENSSL }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'guarded-'))
  const runs = fuzz(0.03, 10)
  const edited = new Side(join(folder, 'edited.yaml'))
  let backend: { readonly port: number; readonly close: () => void }
  let ports: readonly [Ports, Ports]

  before(async () => {
    const authority = makeAuthority('guarded')
    for (const name of ['a', 'b']) {
      const { cert, key } = authority.issue({ names: [`DNS:${name}.test`] })
      writeFileSync(join(folder, `${name}.pem`), cert)
      writeFileSync(join(folder, `${name}.key`), key)
    }
    writeFileSync(join(folder, 'users'), 'alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n')
    backend = await startServer(serve)
    const some = async (): Promise<Ports> => {
      const [plain, layered, tls, tcp] = await Promise.all([free(), free(), free(), free()])
      return { plain, layered, tls, tcp }
    }
    ports = [await some(), await some()]
  })
  after(async () => {
    await edited.stop()
    backend.close()
    rmSync(folder, { recursive: true })
  })

  const configOf = (own: Ports) => guardedConfiguration(own, `127.0.0.1:${backend.port}`)
  const probe = (own: Ports) => Promise.all(PROBES.map(({ send }) => send(own)))

  it('serves no client that was denied, whether the gateway was edited or started with it', async () => {
    const [mine, others] = ports
    const paths = [...pathsIn(configOf(mine))].filter(([section]) => section !== 'config')
    let applied = 0
    await assertSeeds('guarded-parts', runs, async (seed, run) => {
      const good = await edited.apply(JSON.stringify(configOf(mine), undefined, 1))
      assert.deepEqual(good, [])
      if (run === 0) {
        const isServed = (await probe(mine)).map((found) => found.includes(SERVED))
        assert.deepEqual(
          PROBES.filter((own, n) => own.isServed !== isServed[n]).map(({ name }) => name),
          [],
        )
      }
      const path = new Random(seed).pick(paths)
      const [text, twin] = [mine, others].map((own) => {
        const config = configOf(own)
        spoil(config, path, new Random(seed))
        return JSON.stringify(config, undefined, 1)
      }) as [string, string]
      const what = `seed ${seed}, ${path.join('.')}`
      const errors = await edited.apply(text)
      // A configuration without errors may admit more clients.
      if (errors === undefined || errors.length === 0) return
      applied++
      for (const { origin } of errors) assert.equal(origin.kind, 'file', what)
      const now = await probe(mine)
      const isEmptied = errors.some(({ code }) => code === 'PC0305' || code === 'PC0307')
      const opened = PROBES.filter((own, n) => !own.isServed && now[n]?.includes(SERVED))
      // A listener that was emptied has no hostname left to protect.
      if (!isEmptied)
        assert.deepEqual(
          opened.map(({ name }) => name),
          [],
          what,
        )
      const fresh = new Side(join(folder, 'fresh.yaml'))
      assert.equal((await fresh.apply(twin))?.length, errors.length, what)
      assert.deepEqual(await probe(others), now, what)
      await fresh.stop()
    })
    assert.ok(applied > runs.numRuns * 0.3, `${applied} of ${runs.numRuns} were applied`)
  })
})

/** A backend, a model provider and an MCP server. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  let text = ''
  request.on('data', (bytes) => {
    text += bytes
  })
  request.on('end', () => {
    const url = request.url ?? ''
    if (!/^\/(mcp|v1)/.test(url)) {
      response.end(SERVED)
      return
    }
    const sent = JSON.parse(text) as { readonly id?: number; readonly method?: string }
    response.setHeader('content-type', 'application/json')
    if (url.startsWith('/mcp')) respondToMcp(sent, response)
    else {
      const message = { role: 'assistant', content: SERVED }
      const choices = [{ index: 0, finish_reason: 'stop', message }]
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      const head = { id: 'x', object: 'chat.completion', created: 1, model: 'm' }
      response.end(JSON.stringify({ ...head, choices, usage }))
    }
  })
}

function respondToMcp(
  { id, method }: { readonly id?: number; readonly method?: string },
  response: ServerResponse,
): void {
  if (id === undefined) {
    response.writeHead(202).end()
    return
  }
  const serverInfo = { name: 's', version: '1' }
  const named = (name: string) => ({ name, inputSchema: { type: 'object' } })
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools: ['echo', 'del'].map(named) },
    'tools/call': { content: [{ type: 'text', text: SERVED }] },
  }
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method ?? ''] ?? {} }))
}
