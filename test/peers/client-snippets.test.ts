import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { filled, SNIPPETS, type Snippet } from '../../ui/src/clients/snippets.ts'
import { CLIENT_KEY, type FullGateway, startFullGateway } from '../ui/full-gateway.ts'

const run = promisify(execFile)

const PYTHON = join(import.meta.dirname, '../../.cache/llm-clients/python')

/** Why a snippet cannot be executed here; false if it can. */
function missing({ client, runs }: Snippet): string | false {
  if (runs !== 'python') return false
  const name = client.split(' ', 1)[0]?.toLowerCase() ?? ''
  return existsSync(join(PYTHON, name)) ? false : `${name} is not in .cache/llm-clients/python`
}

/** Others are programs with settings, which are not installed. */
const isProgram = ({ runs, client }: Snippet) =>
  runs === 'javascript' || runs === 'python' || client === 'curl'

describe('snippets of the page Clients', () => {
  let gateway: FullGateway
  let folder: string

  before(async () => {
    gateway = await startFullGateway()
    // Below the repository, so that packages are found.
    const cache = join(import.meta.dirname, '../../.cache')
    mkdirSync(cache, { recursive: true })
    folder = mkdtempSync(join(cache, 'snippets-'))
  })

  after(async () => {
    await gateway?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const valuesOf = (origin: string) => ({
    base: origin,
    key: CLIENT_KEY,
    model: 'small',
    mcp: `${origin}/mcp`,
  })

  async function execute(snippet: Snippet, text: string): Promise<string> {
    if (snippet.runs === 'sh') return (await run('sh', ['-c', text])).stdout
    const isPython = snippet.runs === 'python'
    const file = join(folder, isPython ? 'snippet.py' : 'snippet.mjs')
    writeFileSync(file, text)
    const env = { ...process.env, PYTHONPATH: PYTHON }
    return (await run(isPython ? 'python3' : process.execPath, [file], { env })).stdout
  }

  for (const snippet of SNIPPETS.filter(isProgram)) {
    const skip = missing(snippet)
    it(`${snippet.client} reaches ${snippet.to} with nothing but the snippet`, {
      skip,
    }, async () => {
      const out = await execute(snippet, filled(snippet, valuesOf(gateway.origin)))
      assert.match(out, snippet.to === 'mcp' ? /list_notes/ : /\w/)
      assert.doesNotMatch(out, /"error"/)
      if (snippet.to === 'mcp') return
      // The key of the snippet is what admits it.
      const other = { ...valuesOf(gateway.origin), key: 'another' }
      const refused = await execute(snippet, filled(snippet, other)).catch(String)
      assert.match(refused, /error|401/i)
    })
  }

  for (const snippet of SNIPPETS.filter((one) => !isProgram(one))) {
    it(`${snippet.client} gets the address of ${snippet.to}, and its text is well-formed`, () => {
      const values = valuesOf('https://gateway.example:8443')
      const text = filled(snippet, values)
      assert.ok(text.includes(snippet.to === 'mcp' ? values.mcp : values.base), text)
      assert.ok(text.includes(values.key) || text.includes('PORTCULLIS_KEY'), text)
      assert.doesNotMatch(text, /\{\{|\}\}(?!\s*[,}\n])/)
      if (snippet.runs === 'json') JSON.parse(text)
      if (snippet.runs === 'sh') assert.equal(spawnSync('sh', ['-n', '-c', text]).status, 0, text)
    })
  }
})
