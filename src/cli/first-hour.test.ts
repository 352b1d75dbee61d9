import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import { runWith } from './fixtures/run.ts'
import { painter } from './paint.ts'
import { renderDecisionLine } from './render-decision.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))

const GATEWAY = 'gateways: { default: { port: 4000 } }\n'
const routed = (more: string) => `${GATEWAY}routes: [{ ${more} backends: [{ host: 'a:80' }] }]\n`

/** Mistakes of the first hour, and what the message must say. */
const MISTAKES: Readonly<Record<string, readonly [text: string, hint: RegExp]>> = {
  'a port with a colon': ["gateways: { default: { port: ':4000' } }\n", /hint: write 4000$/m],
  'a path that is only text': [
    routed('matches: [{ path: /orders }],'),
    /hint: write \{ pathPrefix: \/orders \}, or \{ exact: \/orders \}/,
  ],
  'the URL of keys in place of keys': [
    routed(
      "policies: { jwtAuthentication: { issuer: 'https://a.test', jwks: 'https://a.test/keys' } },",
    ),
    /it is a URL, which belongs in `url`/,
  ],
  'look-behind in a regular expression': [
    routed(
      `policies: { authorization: { rules: [{ allow: "request.path.matches('(?<=a)b')" }] } },`,
    ),
    /look-around is not supported: matching takes linear time/,
  ],
  'look-ahead in a regular expression': [
    routed(
      `policies: { authorization: { rules: [{ allow: "request.path.matches('a(?!b)')" }] } },`,
    ),
    /look-around is not supported/,
  ],
  'a tool compared with its name': [
    `${GATEWAY}mcp:
  targets: [{ name: a, mcp: { host: 'a:80' } }]
  policies: { mcpAuthorization: { rules: [{ allow: "mcp.tool == 'read'" }] } }
`,
    /did you mean `mcp\.tool\.name`\?/,
  ],
  'a file of LiteLLM': ['model_list: []\n', /this is a file of LiteLLM/],
}

describe('what a newcomer is told', () => {
  for (const [what, [text, hint]] of Object.entries(MISTAKES)) {
    it(`check: ${what}`, async () => {
      const file = join(folder, 'gateway.yaml')
      writeFileSync(file, text)
      const { code, err, out } = await runWith(['check', file])
      assert.equal(code, 1)
      assert.match(err + out, hint)
    })
  }

  it('convert: a file of LiteLLM is named, and is not one of agentgateway', async () => {
    const file = join(folder, 'litellm.yaml')
    writeFileSync(file, 'model_list:\n- model_name: a\n  litellm_params: { model: b }\n')
    const { code, err, out } = await runWith(['convert', file])
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /file of LiteLLM, .* docs\/migrate\/litellm\.md/)
  })

  it('why: a list says why credentials were rejected', () => {
    const record = recordOf({ kind: 'authentication', cause: 'credentials', reason: 'expired' })
    assert.match(renderDecisionLine(record, painter(false)), /credentials: expired/)
  })

  it('completion: values of --format, codes of messages, and files', async () => {
    const { out } = await runWith(['completion', 'bash'])
    const file = join(folder, 'completion.sh')
    writeFileSync(file, out)
    const complete = (...words: readonly string[]) => {
      const script = `source ${file}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}; _portcullis; echo "\${COMPREPLY[@]}"`
      const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8', cwd: folder })
      return stdout.trim().split(' ')
    }
    assert.deepEqual(complete('portcullis', 'effective', '--format', ''), ['text', 'json'])
    assert.deepEqual(complete('portcullis', 'explain', 'PC032').slice(0, 2), ['PC0320', 'PC0321'])
    assert.deepEqual(complete('portcullis', 'check', 'compl'), ['completion.sh'])
  })
})
