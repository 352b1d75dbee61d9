import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { diff, type Said } from './fixtures/diffed.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-tools-'))
after(() => rmSync(FOLDER, { recursive: true }))

const PINS = { version: 1, targets: { files: { read: {}, write: {} } } }
writeFileSync(join(FOLDER, 'pins.json'), JSON.stringify(PINS))

let count = 0
function file(rules: readonly string[], targets: readonly string[] = [FILES]): string {
  const path = join(FOLDER, `${count++}.yaml`)
  const list = targets.map((target) => `  - ${target}\n`).join('')
  const own = rules.map((rule) => `      - ${rule}\n`).join('')
  writeFileSync(
    path,
    `gateways: { default: { port: 4000 } }
mcp:
  targets:
${list}  policies:
    jwtAuthentication: { issuer: 'https://i.example', audiences: [a], jwks: '{"keys":[]}' }
    mcpAuthorization:
      rules:
${own}`,
  )
  return path
}

const FILES = "{ name: files, mcp: { host: 'files:80' } }"
const PINNED = "{ name: files, mcp: { host: 'files:80' }, pins: { file: pins.json } }"
const SEARCH = "{ name: search, mcp: { host: 'search:80' } }"

const tools = ({ differences }: Said) =>
  differences.flatMap(({ kind, example }) =>
    example.message === undefined ? [] : [`${kind} ${example.message.about}`],
  )

const READ = "allow: jwt.sub == 'ann' && mcp.tool.name == 'read'"

describe('portcullis diff with tools', () => {
  it('reports which tool is newly admitted, for whom and with which arguments', async () => {
    const more =
      "allow: jwt.sub == 'bob' && mcp.tool.name == 'write' && mcp.tool.arguments.path == '/srv'"
    const said = await diff(file([READ]), file([READ, more]))
    assert.deepEqual(tools(said), ['admitted write', 'admitted ping'])
    const [found] = said.differences.filter(({ example }) => example.message !== undefined)
    assert.equal(found?.example.identity.jwt?.['sub'], 'bob')
    const body = JSON.parse(found?.example.message?.body ?? '') as {
      params: { arguments: object }
    }
    assert.deepEqual(body.params.arguments, { path: '/srv' })
    const { out } = await runWith(['diff', file([READ]), file([READ, more])])
    assert.match(
      out,
      /newly admitted at listener default\/default, route mcp, backend mcp: write\n/,
    )
    assert.match(out, /body \{"jsonrpc":"2.0"/)
  })

  it('reports which tool is newly denied, by the name that clients use', async () => {
    const deny = "deny: mcp.tool.target == 'search' && mcp.tool.name == 'drop'"
    const all = "allow: jwt.sub == 'ann'"
    const said = await diff(file([all], [FILES, SEARCH]), file([all, deny], [FILES, SEARCH]))
    assert.deepEqual(tools(said), ['refused search_drop'])
  })

  it('names each known tool', async () => {
    const all = "allow: jwt.sub == 'ann'"
    const said = await diff(file([READ], [PINNED]), file([all], [PINNED]))
    assert.deepEqual(tools(said).toSorted(), ['admitted any', 'admitted unknown', 'admitted write'])
  })

  it('reports nothing for unchanged tools', async () => {
    const same = ["allow: mcp.tool.name == 'read' && jwt.sub == 'ann'"]
    const said = await diff(file([READ]), file(same))
    assert.deepEqual(tools(said), [])
    assert.deepEqual([said.differences, said.untold], [[], []])
  })

  it('reports that nothing changes', async () => {
    const { out } = await runWith(['diff', file([READ]), file([READ])])
    assert.equal(out, 'nothing changes: proven for every request\n')
  })
})
