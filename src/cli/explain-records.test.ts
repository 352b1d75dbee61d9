import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'records-'))
after(() => rmSync(FOLDER, { recursive: true }))

let count = 0
function written(document: object): string {
  const file = join(FOLDER, `${++count}.yaml`)
  writeFileSync(file, JSON.stringify(document))
  return file
}

function withPolicies(policies: object): object {
  const routes = [{ name: 'a', policies, backends: [{ host: '127.0.0.1:9' }] }]
  return { gateways: { default: { port: 8080 } }, routes }
}

async function explained(file: string, request: string, ...args: readonly string[]) {
  const { out } = await runWith(['explain', '-f', file, '-r', request, '--json', ...args])
  return JSON.parse(out) as { readonly outcome: string }
}

describe('policy records', () => {
  it('explain: serves metadata to clients without a token', async () => {
    const provider = { issuer: 'https://issuer.test', audiences: ['a'], jwks: '{"keys":[]}' }
    const resourceMetadata = { resource: 'https://a.test/mcp' }
    const file = written(
      withPolicies({ jwtAuthentication: { providers: [provider], resourceMetadata } }),
    )
    const path = '/.well-known/oauth-protected-resource'
    assert.deepEqual(
      [(await explained(file, `GET ${path}`)).outcome, (await explained(file, 'GET /')).outcome],
      ['answered', 'denied'],
    )
  })

  it('explain: rules about messages see the metadata that transformations set', async () => {
    const target = { name: 't', mcp: { host: '127.0.0.1:9' } }
    const policies = {
      transformations: { request: { metadata: { team: 'request.headers["x-team"]' } } },
      mcpAuthorization: { rules: ["metadata.team == 'red'"] },
    }
    const backends = [{ mcp: { targets: [target] }, policies }]
    const file = written({ gateways: { default: { port: 8080 } }, routes: [{ backends }] })
    const params = { name: 'x', arguments: {} }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const outcomes = ['red', 'blue'].map(async (team) => {
      const headers = ['-H', 'content-type: application/json', '-H', `x-team: ${team}`]
      return (await explained(file, 'POST /mcp', '--body', body, ...headers)).outcome
    })
    assert.deepEqual(await Promise.all(outcomes), ['forwarded', 'denied'])
  })

  it('diff: body access in an access log changes nothing for rules', async () => {
    const authorization = { rules: ["request.path == '/a'"] }
    const accessLog = { filter: 'request.body != b""' }
    const plain = withPolicies({ authorization })
    const { code, out } = await runWith([
      ...['diff', written(plain), written({ ...plain, frontendPolicies: { accessLog } }), '--json'],
    ])
    assert.equal(code, 0, out)
  })
})
