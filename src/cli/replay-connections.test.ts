import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'replay-connections-'))
after(() => rmSync(FOLDER, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

async function replay(record: DecisionRecord, old: string, now: string): Promise<string> {
  const { out } = await runWith([
    'replay',
    ...['--decisions', file('decisions.jsonl', `${JSON.stringify(record)}\n`)],
    ...['--old', file('old.yaml', old), '--new', file('new.yaml', now)],
  ])
  return out
}

const TLS = 'tls: { cert: { inline: c }, key: { inline: k }, root: { inline: r } }'
const place = { gateway: 'edge', listener: 'l0', port: 8443 }

describe('portcullis replay with server names', () => {
  const file = (...hostnames: readonly string[]) => `gateways:
  edge:
    port: 8443
    listeners:
${hostnames.map((name, at) => `    - { name: l${at}, protocol: HTTPS, ${name === '' ? '' : `hostname: ${name}, `}${TLS} }\n`).join('')}
routes: [{ name: api, gateways: [edge], backends: [{ host: 'a:80' }] }]
`
  const request = (sni: string | undefined) =>
    recordOf({
      ...place,
      ...{ route: 'api', method: 'GET', host: 'a.test', path: '/', status: 200 },
      ...{ verdict: 'allowed', cause: 'no-rules' },
      ...(sni === undefined ? {} : { sni }),
    })

  it('counts a request as denied if no listener accepts its connection any longer', async () => {
    for (const sni of ['b.test', undefined]) {
      const out = await replay(request(sni), file(''), file('a.test'))
      assert.match(out, /admitted then, denied now: 1 .*no listener serves this server name/)
    }
    assert.match(await replay(request('a.test'), file(''), file('a.test')), / 1 unchanged/)
  })

  it('counts a request as denied if another listener now serves its host', async () => {
    const out = await replay(request('b.test'), file(''), file('', 'a.test'))
    assert.match(out, /admitted then, denied now: 1 .*421: another listener serves this host/)
  })

  const connection = (verdict: 'allowed' | 'denied', sni = 'b.test') =>
    recordOf({ ...place, stage: 'connection', verdict, cause: 'no-rules', sni })

  it('treats a connection with an unserved server name as unsuccessful', async () => {
    const out = await replay(connection('allowed'), file('a.test'), file('c.test'))
    assert.match(out, / 0 newly admitted, 0 newly denied, 1 unchanged/)
    assert.doesNotMatch(out, /differently than recorded/)
  })

  it('decides a connection by its source if it was closed before its server name was read', async () => {
    const { sni: _, ...unread } = connection('denied')
    const out = await replay(unread, file('a.test'), file('a.test'))
    assert.match(out, /: 1 newly admitted/)
  })

  it('does not know the certificate of a client that was closed before sending it', async () => {
    const out = await replay(connection('denied'), file('a.test'), file(''))
    assert.match(out, /not known: 1: it depends on the client certificate/)
  })
})

describe('portcullis replay with TCP and TLS listeners', () => {
  const file = (own: string, hasRoute: boolean) => `gateways:
  edge: { port: 8443, ${own} }
routes: []
${hasRoute ? "tcpRoutes: [{ name: t, gateways: [edge], backends: [{ host: 'a:80' }] }]" : ''}
`
  const DENY = 'frontendPolicies: { networkAuthorization: { rules: [{ deny: "true" }] } }'
  const of = (verdict: 'allowed' | 'denied') =>
    recordOf({ ...place, listener: 'default', stage: 'connection', verdict, sni: 'a.test' })

  for (const protocol of [
    'protocol: TCP',
    `protocol: TLS, ${TLS.replace(/, root.*\}\s\}/, ' }')}`,
  ]) {
    it(`admits no connection that no route takes: ${protocol}`, async () => {
      const [shut, open] = [`${protocol}, ${DENY}`, protocol]
      for (const [verdict, old, now, said] of [
        ['denied', file(shut, false), file(open, false), / 1 unchanged/],
        ['denied', file(shut, true), file(open, false), / 1 unchanged/],
        ['denied', file(shut, true), file(open, true), /: 1 newly admitted/],
        ['allowed', file(open, true), file(open, false), / 1 newly denied/],
        ['allowed', file(open, false), file(open, true), /: 1 newly admitted/],
      ] as const) {
        const out = await replay(of(verdict), old, now)
        assert.match(out, said)
        assert.doesNotMatch(out, /differently than recorded/)
      }
    })
  }
})

describe('portcullis replay with settings for reading requests', () => {
  const file = (http: string) => `gateways: { default: { port: 8080 } }
${http === '' ? '' : `frontendPolicies: { http: { ${http} } }`}
routes:
- name: api
  matches: [{ path: { exact: /b } }, { path: { exact: //a } }]
  policies: { authorization: { rules: [{ deny: "request.path == '/a'" }] } }
  backends: [{ host: 'a:80' }]
`
  const of = (path: string) =>
    recordOf({
      ...{ gateway: 'default', listener: 'default', port: 8080, route: 'api' },
      ...{ method: 'GET', host: 'a.test', path, status: 200, verdict: 'allowed' as const },
    })
  const MERGED =
    /not known: 1: it depends on the bytes of the request \(`http\.mergeSlashes` differs\)/
  for (const [what, path, old, now, said] of [
    ['slashes that are merged now', '//a', 'mergeSlashes: false', '', MERGED],
    ['a path without such slashes', '/b', 'mergeSlashes: false', '', / 1 unchanged/],
    ['slashes that may have been merged', '/b', '', 'mergeSlashes: false', MERGED],
    ['headers that are dropped now', '/b', '', 'headersWithUnderscores: Drop', /not known: 1:/],
    ['a setting that says the same', '/b', '', 'mergeSlashes: true', / 1 unchanged/],
    ['a limit of time', '/b', '', 'headTimeout: 1s', / 1 unchanged/],
  ] as const) {
    it(what, async () => assert.match(await replay(of(path), file(old), file(now)), said))
  }
})
