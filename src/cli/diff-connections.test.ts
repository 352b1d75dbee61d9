import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-connections-'))
after(() => rmSync(FOLDER, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(FOLDER, `${name}.yaml`)
  writeFileSync(path, text)
  return path
}

async function diffOf(old: string, now: string, ...args: readonly string[]) {
  return runWith(['diff', file('old', old), file('new', now), ...args])
}

describe('what portcullis diff says of client certificates', () => {
  const tls = (more: string) =>
    `tls: { cert: { inline: c }, key: { inline: k }${more === '' ? '' : `, ${more}`} }`
  const listener = (own: string) =>
    `gateways: { default: { port: 8443, ${own} } }\nroutes:\n- { name: api, backends: [{ host: 'a:80' }] }\n`
  const root = 'root: { inline: r }'
  const optional = `${root}, clientCertificates: Optional`
  const named = (more: string, rule = `require: "source.subjectCn == 'alice'"`) =>
    listener(tls(more)).replace(
      'backends',
      `policies: { authorization: { rules: [{ ${rule} }] } }, backends`,
    )
  for (const [what, less, more] of [
    ['which nobody was asked for', listener(tls('')), listener(tls(root))],
    ['which one could do without', listener(tls(optional)), listener(tls(root))],
    ['which rules read as well', named('', `deny: "source.subjectCn == 'a'"`), named(root)],
  ] as const) {
    it(`shows a request without the certificate that is required, ${what}`, async () => {
      for (const [old, now, kind] of [
        [less, more, 'refused'],
        [more, less, 'admitted'],
      ] as const) {
        const { out } = await diffOf(old, now, '--json')
        const { differences, untold } = JSON.parse(out)
        const about = differences.filter((one: { readonly kind: string }) => one.kind === kind)
        assert.equal(about.length, 1, out)
        assert.equal(about[0].example.certificate, undefined)
        const [closed, open] = kind === 'refused' ? ['now', 'old'] : ['old', 'now']
        assert.match(about[0][closed].reason, /client-certificate-missing/)
        assert.equal(about[0][open].isAdmitted, true)
        const unsaid = untold.filter((one: { readonly kind: string }) => one.kind === kind)
        assert.deepEqual(unsaid, [])
      }
    })
  }

  it('proves that who needs a certificate by rules needs it in the handshake', async () => {
    const { out } = await diffOf(named(root), named(optional))
    assert.equal(out, 'nothing changes: proven for every request\n')
    const { out: closed } = await diffOf(named(''), named(root), '--json')
    const { differences } = JSON.parse(closed)
    assert.deepEqual(
      differences.filter((one: { readonly kind: string }) => one.kind === 'refused'),
      [],
    )
  })

  it('does not call proven what clients with a bad certificate see', async () => {
    const { out } = await diffOf(listener(tls('')), listener(tls(optional)))
    assert.match(out, /not known whether something is newly refused/)
    assert.match(out, /closed with a bad one/)
    assert.doesNotMatch(out, /newly admitted or/)
  })

  it('does not call proven what rules read of certificates that are not asked for', async () => {
    const { out } = await diffOf(named(''), named(optional), '--json')
    const { differences, untold } = JSON.parse(out)
    const all = [...differences, ...untold].map(({ kind }: { readonly kind: string }) => kind)
    assert.ok(all.includes('admitted'), out)
  })
})
