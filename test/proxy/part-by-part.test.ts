// A broken part fails closed separately: over real sockets, before it breaks, while it is broken
// and after it is fixed, while everything else keeps serving.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import type { Model } from '../../src/model/model.ts'
import { resolveSecrets, secretsIn } from '../../src/model/secret.ts'
import { runToCompletion } from '../../src/model/steps.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { confine } from '../../src/sources/file/confine.ts'
import { loadFile } from '../../src/sources/file/load.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { steady } from '../steady-settings.ts'
import { type KeyPair, makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { free } from './accepting.ts'
import {
  BROKEN_PARTS,
  configuration,
  type Found,
  GONE,
  OPEN,
  type Parts,
  PLACES,
  type Place,
  type Ports,
} from './broken-parts.ts'
import { startServer } from './governed.ts'

describe('a Model in parts', { skip: WITHOUT_OPENSSL }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const file = join(folder, 'gateway.yaml')
  let ports: Ports
  let gateway: Gateway
  let backend: { readonly port: number; readonly close: () => void }

  before(async () => {
    const authority = makeAuthority('parts')
    const pairs: Record<string, KeyPair> = {
      a: authority.issue({ names: ['DNS:a.test'] }),
      b: authority.issue({ names: ['DNS:b.test'] }),
    }
    for (const [name, { cert, key }] of Object.entries(pairs)) {
      writeFileSync(join(folder, `${name}.pem`), cert)
      writeFileSync(join(folder, `${name}.key`), key)
    }
    writeFileSync(join(folder, 'none.key'), 'no key at all')
    backend = await startServer((_, response) => void response.end('served'))
    const [plain, tls, tcp, spare] = await Promise.all([free(), free(), free(), free()])
    ports = { plain, tls, tcp, spare, backend: backend.port }
    assert.ok(read({}))
    const settings = loadFile(file, { environment: {} }).settings ?? assert.fail()
    const log = createLogger({ format: 'json', level: 'error', write: () => {} })
    gateway = new Gateway({
      settings: steady(settings),
      log,
      metrics: createMetrics(),
      reusePort: false,
    })
  })
  after(async () => {
    await gateway.drain()
    backend.close()
    rmSync(folder, { recursive: true })
  })

  const read = (parts: Parts, said: Diagnostic[] = []): Model | undefined => {
    const text = configuration(ports, parts).replaceAll('PLAIN', String(ports.plain))
    writeFileSync(file, text)
    const loaded = loadFile(file, { environment: {} })
    const { value, diagnostics } = confine(loaded.result, loaded.places)
    said.push(...diagnostics)
    const copy = structuredClone(value)
    if (copy !== undefined) runToCompletion(resolveSecrets(copy, secretsIn(value)))
    return copy
  }

  const expect = async (found: Partial<Record<Place, Found>>, when: string) => {
    const all = await Promise.all(
      (Object.keys(PLACES) as Place[]).map(async (place) => {
        const at = await PLACES[place](ports)
        return at === (found[place] ?? 200) ? [] : [`${place}: ${at}`]
      }),
    )
    assert.deepEqual(all.flat(), [], when)
  }

  const good = async () => {
    const { isApplied, diagnostics } = await gateway.apply(read({}) ?? assert.fail(), false)
    assert.ok(isApplied)
    assert.deepEqual(diagnostics, [])
  }

  for (const { what, parts, change, found, code } of BROKEN_PARTS) {
    it(`${what}: ${code}`, async () => {
      await good()
      await expect({}, 'before')
      const said: Diagnostic[] = []
      const model = read(parts ?? {}, said)
      assert.ok(model !== undefined, JSON.stringify(said))
      change?.(model, ports)
      const { isApplied, diagnostics } = await gateway.apply(model, false)
      assert.ok(isApplied, JSON.stringify(diagnostics))
      const codes = [...said, ...diagnostics].filter(({ severity }) => severity === 'error')
      assert.ok(
        code === '' || codes.some((one) => one.code === code),
        `${code} is not among ${JSON.stringify(codes)}`,
      )
      await expect(found, 'broken')
      await good()
      await expect({}, 'fixed')
    })
  }

  it('a port that is in use: the others serve, and it is opened once it is free', async () => {
    await good()
    const without = read({}) ?? assert.fail()
    const gateways = without.gateways.filter(({ name }) => name !== 'spare')
    await gateway.apply({ ...without, gateways }, false)
    await expect(GONE, 'without it')
    const taken = await occupy(ports.spare)
    const { isApplied, diagnostics } = await gateway.apply(read({}) ?? assert.fail(), false)
    assert.ok(isApplied)
    assert.deepEqual(
      diagnostics.map(({ code, severity }) => `${code} ${severity}`),
      ['PC0401 error'],
    )
    await expect(GONE, 'taken')
    await new Promise((done) => taken.close(done))
    await good()
    await expect({}, 'free')
  })

  it('an error that cannot be attributed to a part rejects the whole Model', async () => {
    await good()
    for (const [wrong, code] of [
      [{ more: 'polices: []' }, 'PC0210'],
      [{ more: `policies: [{ name: p, target: { rout: guarded }, traffic: ${OPEN} }]` }, 'PC0210'],
      [{ more: `policies: [{ name: p, target: { route: gone }, traffic: ${OPEN} }]` }, 'PC0314'],
      [{ guarded: 'hostname: x' }, 'PC0210'],
      [{ guarded: 'hostnames: ["a b"]' }, 'PC0215'],
      [{ spare: 'listeners: [{ name: any }, { hostnam: x.test, tls: {} }]' }, 'PC0210'],
      [{ spare: 'listeners: [{ name: any }, x.test]' }, 'PC0212'],
      [{ spare: 'listeners: [{ name: any }, [{ hostname: x.test }]]' }, 'PC0212'],
      [{ spare: 'listeners: [{ name: any }, 5]' }, 'PC0212'],
    ] as const) {
      const said: Diagnostic[] = []
      assert.equal(typeof read(wrong, said), 'undefined', JSON.stringify(wrong))
      const codes = said.map((one) => one.code)
      assert.ok(codes.includes(code), codes.join())
      assert.ok(codes.includes('PC0406'), codes.join())
    }
  })
})

async function occupy(port: number): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((done) => server.listen(port, done))
  return server
}
