import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import { runWith } from './fixtures/run.ts'
import { painter } from './paint.ts'
import { renderDecision, renderDecisionLine } from './render-decision.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'providers-'))
after(() => rmSync(FOLDER, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(FOLDER, name)
  writeFileSync(path, text)
  return path
}

interface Rules {
  readonly backend?: string
  readonly first?: string
  readonly second?: string
}

const rule = (text: string | undefined) =>
  text === undefined ? '{}' : `{ authorization: { rules: [{ ${text} }] } }`

const config = ({ backend, first, second }: Rules) => `gateways: { default: { port: 8080 } }
routes: [{ name: chat, backends: [{ backend: models }] }]
backends:
- name: models
  policies: ${rule(backend)}
  ai:
    groups:
    - providers:
      - { name: first, provider: { openAI: {} }, policies: ${rule(first)} }
    - providers:
      - { name: second, provider: { openAI: {} }, policies: ${rule(second)} }
`
const team = (name: string) => `require: "request.headers['x-team'] == '${name}'"`
const RED = 'x-team: red'

describe('portcullis explain with providers', () => {
  const path = file('explain.yaml', config({ first: team('blue'), second: team('red') }))
  const explain = (...args: readonly string[]) => runWith(['explain', '-f', path, ...args])

  it('reports each provider, and admits if one allows', async () => {
    const { out, code } = await explain('-H', RED)
    assert.match(out, /backend models, provider first {2}skipped \(false\)/)
    assert.match(out, /backend models, provider second {2}allowed/)
    assert.equal(code, 0)
  })

  it('denies if none is left', async () => {
    const { out, code } = await explain('-H', 'x-team: green', '--json')
    assert.deepEqual(
      JSON.parse(out)
        .stages.filter(({ stage }: { stage: string }) => stage === 'backend')
        .map(({ provider, verdict }: Record<string, string>) => [provider, verdict]),
      [
        ['first', 'denied'],
        ['second', 'denied'],
      ],
    )
    assert.equal(code, 1)
  })

  it('evaluates backend rules for each provider', async () => {
    const rules = { backend: `deny: "backend.provider == 'first' || llm.provider == 'none'"` }
    const { out } = await runWith(['explain', '-f', file('each.yaml', config(rules))])
    assert.match(out, /provider first {2}skipped \(matched\)/)
    assert.match(out, /provider second {2}allowed/)
  })

  it('reports not known for rules that read the model from the body', async () => {
    const rules = { backend: `allow: "llm.requestModel == 'small'"` }
    const own = file('model.yaml', config(rules))
    const told = async (request: string) => {
      const { out, code } = await runWith(['explain', '-f', own, '--json', '-r', request])
      return [JSON.parse(out).outcome, code]
    }
    assert.deepEqual(await told('POST /v1/chat/completions'), ['not-known', 3])
    assert.deepEqual(await told('POST /v1/batches'), ['denied', 1])
    const plain = ['explain', '-f', file('any.yaml', config({})), '--json', '-r']
    const { out } = await runWith([...plain, 'POST /v1/chat/completions'])
    assert.equal(JSON.parse(out).outcome, 'forwarded')
  })

  it('reports a single provider if requested', async () => {
    const { out, code } = await explain('-H', RED, '--provider', 'first')
    assert.match(out, /provider first {2}denied/)
    assert.doesNotMatch(out, /provider second/)
    assert.equal(code, 1)
  })
})

describe('portcullis effective with providers', () => {
  it('shows the protection of each, and uses the weakest', async () => {
    const path = file('effective.yaml', config({ first: team('blue') }))
    const { out } = await runWith(['effective', '-f', path])
    assert.match(out, /route chat .* unprotected\n/)
    assert.match(
      out,
      / {6}provider first {2}guarded\n {8}authorization provider:models\/first .*\n {10}Require request/,
    )
    assert.match(out, / {6}provider second {2}unprotected\n/)
  })

  it('does not count MCP rules as protection of non-MCP backends', async () => {
    const mcp = `{ port: 8080, policies: { mcpAuthorization: { rules: [{ allow: "mcp.tool.name == 'a'" }] } } }`
    const servers = `- name: tools\n  mcp:\n    targets:\n    - name: files\n      stdio: { cmd: files }\n      policies: { mcpAuthorization: { rules: [{ deny: "mcp.tool.name == 'b'" }] } }\n`
    const text = config({})
      .replace('{ port: 8080 }', mcp)
      .replace('{ backend: models }', '{ backend: models }, { backend: tools }')
    const { out, err } = await runWith(['effective', '-f', file('mcp.yaml', `${text}${servers}`)])
    assert.equal(err, '')
    assert.match(out, /backend models\n {6}provider first {2}unprotected\n/)
    assert.match(out, /backend tools\n {6}mcpAuthorization gateway:default .*\n {8}Allow/)
    assert.match(out, / {6}server files\n {8}mcpAuthorization target:tools\/files/)
  })
})

describe('portcullis lint with providers', () => {
  const lint = async (rules: Rules) =>
    (await runWith(['lint', file('lint.yaml', config(rules))])).out

  it('knows the provider for which a rule is evaluated', async () => {
    assert.match(await lint({ first: `require: "backend.provider == 'second'"` }), /AZ010/)
    assert.match(await lint({ first: `require: "llm.provider == 'second'"` }), /AZ010/)
    assert.doesNotMatch(await lint({ backend: `deny: "backend.provider == 'second'"` }), /AZ010/)
  })

  it('accepts attributes that calls to models have, and rejects others', async () => {
    const { out, code } = await runWith([
      'validate',
      file('llm.yaml', config({ first: `allow: "llm.requestModel == 'm'"` })),
    ])
    assert.doesNotMatch(out, /error\[/)
    assert.equal(code, 0)
    const unknown = file('unknown.yaml', config({ first: `allow: "llm.outputTokens < 7"` }))
    const { out: said, code: failed } = await runWith(['validate', unknown])
    assert.match(said, /outputTokens/)
    assert.equal(failed, 1)
  })

  it('finds rules of unreachable providers', async () => {
    const text = config({ first: team('blue') }).replace(
      '[{ backend: models }]',
      '[{ host: "a:80" }]',
    )
    assert.match((await runWith(['lint', file('unused.yaml', text)])).out, /AZ008/)
  })
})

describe('portcullis lint with MCP rules', () => {
  it('finds the same errors in those of a backend and of one server', async () => {
    const text = `gateways: { default: { port: 8080 } }
routes: [{ name: tools, backends: [{ backend: tools }] }]
backends:
- name: tools
  policies: { mcp: { authorization: { rules: [{ allow: "jwt.sub == 'a'" }] } } }
  mcp:
    targets:
    - name: files
      stdio: { cmd: files }
      policies:
        mcpAuthorization: { rules: [{ require: "mcp.tool.name == 'a' && mcp.tool.name == 'b'" }] }
`
    const { out, code } = await runWith(['lint', file('tools.yaml', text)])
    assert.match(out, /error\[AZ001\]: `jwt` is never set here/)
    assert.match(out, /warning\[AZ010\]: no call can satisfy this rule/)
    assert.equal(code, 1)
  })
})

describe('portcullis diff with providers', () => {
  const diff = async (old: Rules, now: Rules) =>
    (await runWith(['diff', file('old.yaml', config(old)), file('new.yaml', config(now))])).out

  it('reports the provider of a change', async () => {
    const out = await diff(
      { first: team('blue'), second: team('red') },
      { first: team('blue'), second: team('green') },
    )
    const at = (kind: string, team: string) =>
      new RegExp(
        `newly ${kind} at .*backend models, provider second:.*\n(?: .*\n)*.*x-team: ${team}`,
      )
    assert.match(out, at('admitted', 'green'))
    assert.match(out, at('denied', 'red'))
    assert.doesNotMatch(out, /provider first/)
  })

  it('proves that nothing changes', async () => {
    const same = { first: team('blue') }
    assert.match(await diff(same, same), /nothing changes: proven/)
  })
})

describe('portcullis replay with providers', () => {
  const place = { gateway: 'default', listener: 'default', route: 'chat', backend: 'models' }
  const shown = (value: string) => [
    { name: "request.headers['x-team']", state: 'shown', value } as const,
    { name: 'backend.provider', state: 'shown', value: 'first' } as const,
  ]
  const request = { ...place, stage: 'backend', method: 'GET', host: 'a', path: '/' } as const
  const records: readonly DecisionRecord[] = [
    recordOf({ ...request, id: '1', provider: 'first', skipped: true, attributes: shown('red') }),
    recordOf({ ...request, id: '2', provider: 'first', skipped: true, attributes: shown('green') }),
    recordOf({ ...request, id: '2', provider: 'second', attributes: shown('green') }),
  ]
  const OLD = { first: team('blue'), second: team('red') }
  const replay = async (now: Rules, of = records) => {
    const lines = of.map((record) => JSON.stringify(record)).join('\n')
    const files = [
      '--decisions',
      file('decisions.jsonl', lines),
      '--old',
      file('old.yaml', config(OLD)),
    ]
    return (await runWith(['replay', ...files, '--new', file('new.yaml', config(now))])).out
  }

  it('counts a request that a later provider serves as admitted', async () => {
    const out = await replay(OLD)
    assert.match(out, /2 requests: 0 newly admitted, 0 newly denied, 2 unchanged/)
    assert.doesNotMatch(out, /differently than recorded/)
  })

  it('reports what another rule of a provider would have decided', async () => {
    // The record does not show whether a provider could have served the request that was denied.
    assert.match(
      await replay({ first: team('blue'), second: team('green') }),
      /not known: 1: .* whether it is a call that a provider can serve[\s\S]*1 newly denied/,
    )
    assert.match(
      await replay({ first: team('red'), second: team('green') }),
      /0 newly denied, 1 unchanged, 1 not known/,
    )
  })

  it('does not use the recorded provider for the other providers', async () => {
    const rules = {
      first: team('blue'),
      second: `require: "backend.provider == 'second' && !('x-odd' in request.headers)"`,
    }
    const odd = { name: "'x-odd' in request.headers", state: 'unset' } as const
    const known = records.map((one) => ({ ...one, attributes: [...one.attributes, odd] }))
    // The value of x-odd is known only for the first provider, and for that one, the team is known.
    assert.match(
      await replay(rules, known),
      /2 requests: 0 newly admitted, 0 newly denied, 0 unchanged, 2 not known/,
    )
  })

  it('admits if one provider allows, whatever the record does not show', async () => {
    const hidden = records.map((record) => ({ ...record, attributes: [] }))
    assert.match(
      await replay({ first: team('blue') }, hidden),
      /not known: 1: .* a call that a provider can serve.*\n2 requests: 0 newly admitted, 0 newly denied, 1 unchanged/,
    )
    assert.match(
      await replay({ first: team('blue'), second: team('green') }, hidden),
      /2 not known/,
    )
  })
})

describe('portcullis diff with providers', () => {
  const said = async (old: string, now: string) => {
    const args = ['diff', file('old.yaml', old), file('new.yaml', now), '--json']
    return JSON.parse((await runWith(args)).out) as {
      readonly differences: readonly { readonly kind: string; readonly provider?: string }[]
      readonly untold: readonly { readonly why: string }[]
    }
  }

  it('compares each provider with itself if routes change', async () => {
    const rules = { first: team('blue'), second: team('red') }
    const more = "routes: [{ name: other, hostnames: [b.test], backends: [{ host: 'a:1' }] }, "
    const now = config(rules).replace('routes: [', more)
    const { differences } = await said(config(rules), now)
    // Only the changes for b.test, which apply to all callers; none that the providers decide.
    assert.deepEqual(new Set(differences.map(({ provider }) => provider)), new Set([undefined]))
  })

  it('shows a request that names no model if a rule newly reads the model', async () => {
    const never = `deny: "llm.requestModel == 'a' && llm.requestModel == 'b'"`
    for (const [old, now, kind] of [
      [{}, { second: never }, 'refused'],
      [{ first: never }, {}, 'admitted'],
    ] as const) {
      const { differences, untold } = await said(config(old), config(now))
      assert.deepEqual(untold, [])
      assert.deepEqual(
        differences.map((one) => one.kind),
        [kind],
      )
    }
    const { differences, untold } = await said(config({ first: never }), config({ second: never }))
    assert.deepEqual([differences, untold], [[], []])
  })
})

describe('a decision about a provider', () => {
  it('names the provider and that the request continued', () => {
    const record = recordOf({
      backend: 'models',
      provider: 'first',
      skipped: true,
      stage: 'backend',
    })
    const text = renderDecision(record, painter(false))
    assert.match(text, /^skipped /)
    assert.match(text, /backend models, provider first \(backend\)/)
    assert.match(renderDecisionLine(record, painter(false)), / skipped /)
  })
})
