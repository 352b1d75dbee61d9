import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-protocols-'))
after(() => rmSync(FOLDER, { recursive: true }))

type Tree = Readonly<Record<string, unknown>>

function file(name: string, tree: Tree): string {
  const path = join(FOLDER, `${name}.yaml`)
  writeFileSync(path, stringify(tree))
  return path
}

const diffOf = (old: Tree, now: Tree) => runWith(['diff', file('old', old), file('new', now)])

const ALLOW = { authorization: { rules: [{ allow: "request.method == 'POST'" }] } }
const routed = (backend: Tree, more: Tree = {}): Tree => ({
  gateways: { default: { port: 8080 } },
  routes: [{ name: 'api', policies: { ...ALLOW, ...more }, backends: [backend] }],
})
const host = (policies: Tree = {}): Tree => ({ host: 'a:80', policies })
const models = (provider: Tree, more: Tree = {}): Tree => ({
  ai: { groups: [{ providers: [{ name: 'one', provider, ...more }] }] },
})
const tools = (targets: readonly Tree[], policies: Tree = {}): Tree => ({
  mcp: { targets },
  policies,
})
const TARGET = { name: 'one', mcp: { host: 'a:80' } }
const listeners = (...own: readonly Tree[]): Tree => ({
  gateways: { default: { port: 8443, listeners: own } },
  routes: [{ name: 'api', policies: ALLOW, backends: [{ host: 'a:80' }] }],
})
const TLS = { tls: { cert: { inline: 'c' }, key: { inline: 'k' } } }

/** These are not analyzed: the output only names the part. */
describe('portcullis diff reports what is not known', () => {
  for (const [what, old, now, part] of [
    [
      'MCP servers',
      routed(tools([TARGET])),
      routed(tools([{ ...TARGET, name: 'two' }])),
      /server `one` of backend/,
    ],
    ['a backend that becomes one of MCP', routed(host()), routed(tools([TARGET])), /mcp/],
    ['messages to agents', routed(host()), routed(host({ a2a: {} })), /a2a/],
    [
      'a model that is part of the path',
      routed(models({ gemini: { model: 'a' } })),
      routed(models({ gemini: { model: 'b' } })),
      /provider/,
    ],
    [
      'a backend that becomes one of models',
      routed(host()),
      routed(models({ openAI: {} })),
      /provider/,
    ],
    [
      'limits that only some requests count toward',
      routed(host()),
      routed(host(), {
        localRateLimit: {
          conditional: [{ condition: "request.method == 'PUT'", requests: 1, unit: 'Hours' }],
        },
      }),
      /localRateLimit/,
    ],
    [
      'guards of prompts',
      routed(models({ openAI: {} })),
      routed(models({ openAI: {} }), {
        guardrails: { request: [{ regex: { action: 'Reject', rules: [{ builtin: 'email' }] } }] },
      }),
      /guardrails/,
    ],
    [
      'tokens that are exchanged',
      routed(host()),
      routed(
        host({
          backendAuth: {
            oauthTokenExchange: {
              tokenEndpoint: 'https://i.test/token',
              clientId: 'c',
              audiences: ['a'],
            },
          },
        }),
      ),
      /backendAuth/,
    ],
    [
      'bodies that are held',
      routed(host()),
      routed(host(), { buffer: { request: { maxBytes: 10 } } }),
      /buffer/,
    ],
    [
      'bodies that are changed',
      routed(host()),
      routed(host(), { transformations: { request: { body: "'x'" } } }),
      /transformations/,
    ],
    [
      'several protocols on a port',
      listeners({ name: 'web', hostname: 'a.test', ...TLS }),
      listeners(
        { name: 'web', hostname: 'a.test', ...TLS },
        { name: 'raw', hostname: 'b.test', protocol: 'TLS' },
      ),
      /share port 8443/,
    ],
    [
      'a target that is computed',
      routed({ dynamic: { target: "'a:80'" } }),
      routed({ dynamic: { target: "request.headers['x']" } }),
      /target|dynamic/,
    ],
  ] as const) {
    it(what, async () => {
      const { out, err } = await diffOf(old, now)
      assert.equal(err, '')
      assert.doesNotMatch(out, /proven/)
      assert.match(out, /not known/)
      assert.match(out, part)
    })
  }
})
