import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { checkModel } from '../src/cli/check-model.ts'
import { loadInThread } from '../src/cli/load.ts'
import { NO_PLACES } from '../src/diagnostics/places.ts'
import type { Model } from '../src/model/model.ts'
import { reconcile } from '../src/model/reconcile.ts'
import { redact } from '../src/model/redact.ts'
import { refsIn, resolveSecrets, secretsIn, secretText } from '../src/model/secret.ts'
import { runToCompletion } from '../src/model/steps.ts'
import { versionOf } from '../src/model/version.ts'
import { loadFile } from '../src/sources/file/load.ts'
import { certify } from '../src/upstream/fixtures/certificates.ts'
import { assemble, partsOf, readPart } from '../src/xds/parts.ts'
import { deltaBetween, snapshotOf } from '../src/xds/snapshot.ts'

const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
after(() => rmSync(folder, { recursive: true }))

/** Part of every secret below: no Model may contain this word. */
const WORD = 'planted'
const HASH = `$2y$05$${WORD}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`
const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
write('cert.pem', certify({ name: 'test' }).cert)
for (const name of ['listener.key', 'other.key', 'backend.key', 'sent.key']) {
  write(name, `${WORD}-${name}`)
}
write('users', `alice:${HASH}\n`)

/** Every place of a file that accepts a secret, inline and as a file. */
const EVERY_PLACE = `
gateways:
  default:
    port: 4101
    listeners:
      - { name: a, hostname: a.test, protocol: HTTPS, tls: { cert: cert.pem, key: listener.key } }
      - { name: b, hostname: b.test, protocol: HTTPS, tls: { cert: cert.pem, key: other.key } }
      - name: c
        hostname: c.test
        protocol: HTTPS
        tls: { certificates: [{ cert: cert.pem, key: { inline: ${WORD}-inline } }] }
    policies:
      basicAuth: { users: ['bob:${HASH}'] }
llm:
  gateways: default
  models:
    - { name: m, provider: openAI, params: { apiKey: ${WORD}-model } }
routes:
  - name: files
    gateways: default
    policies:
      backendTLS: { cert: cert.pem, key: backend.key }
      backendAuth: { key: { value: { file: sent.key }, location: { header: { name: x-k } } } }
      basicAuth: { htpasswd: { file: users } }
    backends: [{ host: 127.0.0.1:1 }]
  - name: texts
    gateways: default
    policies:
      backendTLS: { cert: cert.pem, key: { inline: ${WORD}-backend } }
      backendAuth: { key: ${WORD}-sent }
      authentication: { anyOf: [{ basicAuth: { htpasswd: 'carol:${HASH}' } }] }
    backends: [{ host: 127.0.0.1:1, policies: { backendAuth: { key: { value: ${WORD}-own } } } }]
  - name: none
    gateways: default
    backends: [{ host: 127.0.0.1:1 }]
`

function load(text = EVERY_PLACE): Model {
  write('x.yaml', text)
  const { value, diagnostics } = loadFile(join(folder, 'x.yaml'), { environment: {} }).result
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  assert.deepEqual(errors, [])
  return value ?? assert.fail()
}

const copyOf = (model: Model): Model => JSON.parse(JSON.stringify(model))
const refsOf = (model: Model) => refsIn({ ...model })

/** The resolved secrets of a Model, in the order of their places. */
const textsOf = (model: Model) => refsOf(model).map(secretText)

describe('secrets of a Model', () => {
  const model = load()
  const texts = textsOf(model)

  it('are not part of it, wherever they are written', () => {
    assert.ok(!JSON.stringify(model).includes(WORD))
  })

  it('can be resolved by their references', () => {
    assert.equal(texts.length, 12)
    for (const text of texts) assert.ok(text?.includes(WORD))
    assert.equal(new Set(refsOf(model).map(({ version }) => version)).size, 12)
  })

  it('have versions that reveal nothing in a dump', () => {
    const shown = JSON.stringify(redact(model))
    assert.ok(shown.includes('"secretRef":"listener.key"'))
    for (const { version } of refsOf(model)) {
      assert.match(version, /^[0-9a-f]{32}$/)
      assert.ok(!shown.includes(version))
    }
  })

  it('are absent from a copy until they are resolved', () => {
    const copy = copyOf(model)
    assert.deepEqual(
      textsOf(copy),
      texts.map(() => undefined),
    )
    const some = new Map([...secretsIn(model)].slice(1))
    assert.equal(runToCompletion(resolveSecrets(copy, some)).length, 1)
    assert.deepEqual(runToCompletion(resolveSecrets(copy, secretsIn(model))), [])
    assert.deepEqual(textsOf(copy), texts)
  })

  it('are required: a Model without them cannot be served', () => {
    const found = checkModel(NO_PLACES, copyOf(model))
    const messages = found.filter(({ code }) => code === 'PC0402').map(({ message }) => message)
    for (const name of ['listener.key', 'other.key', 'backend.key', 'inline']) {
      const missing = new RegExp(`the key \`${name}\` is missing`)
      assert.ok(
        messages.some((message) => missing.test(message)),
        name,
      )
    }
  })

  it('come with a Model that a thread reads', async () => {
    const program = join(import.meta.dirname, '../bin/portcullis.ts')
    const options = { entry: program, timeout: 600_000 }
    const { result } = await loadInThread(join(folder, 'x.yaml'), {}, options)
    assert.deepEqual(textsOf(result.value ?? assert.fail()), texts)
  })

  it('are delivered separately, and all of them are required', () => {
    const parts = [...partsOf(model).values()]
    const received = parts.map(({ name, version, bytes }) => {
      const isSecret = name.startsWith('secrets/')
      assert.equal(Buffer.from(bytes).includes(WORD), isSecret, name)
      return readPart(name, version, bytes) ?? assert.fail()
    })
    const assembled = assemble(received)?.model ?? assert.fail()
    assert.deepEqual(assembled, copyOf(model))
    assert.deepEqual(textsOf(assembled).sort(), texts.toSorted())
    for (const [index, { name }] of received.entries()) {
      if (!name.startsWith('secrets/')) continue
      const rest = received.toSpliced(index, 1).map(({ name: own, version, bytes }) => {
        return readPart(own, version, bytes) ?? assert.fail()
      })
      assert.equal(assemble(rest), undefined, name)
    }
  })

  it('change only the parts that use them when a file changes', () => {
    write('listener.key', `${WORD}-another`)
    const next = runToCompletion(reconcile(model, load()))
    write('listener.key', `${WORD}-listener.key`)
    const [before, now] = [model, next].map(({ gateways }) => gateways[0]?.listeners ?? [])
    assert.notEqual(now?.[0], before?.[0])
    assert.notEqual(versionOf(now?.[0] ?? {}), versionOf(before?.[0] ?? {}))
    assert.equal(now?.[1], before?.[1])
    assert.equal(now?.[2], before?.[2])
    assert.equal(next.routes, model.routes)
    assert.deepEqual(textsOf(next), texts.with(0, `${WORD}-another`))
    const first = snapshotOf(model)
    const after = snapshotOf(next, first)
    assert.equal(after.version, snapshotOf(next).version)
    const { changed, removed } = deltaBetween(first, after)
    const sections = (names: readonly string[]) => names.map((name) => name.replace(/\/.*/, ''))
    assert.deepEqual(sections(changed.map(({ name }) => name)), ['gateways', 'secrets'])
    assert.deepEqual(sections(removed), ['secrets'])
  })
})
