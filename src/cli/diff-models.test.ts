import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { diff, type Said } from './fixtures/diffed.ts'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-models-'))
after(() => rmSync(FOLDER, { recursive: true }))

let count = 0
function file(rule: string, more = ''): string {
  const path = join(FOLDER, `${count++}.yaml`)
  const keys = ['eng', 'ops'].map(
    (team) => `{ key: sk-1234567890-${team}, metadata: { team: ${team} } }`,
  )
  writeFileSync(
    path,
    `gateways: { default: { port: 4000 } }
llm:
  policies: { apiKey: { keys: [${keys.join(', ')}] } }
  models:
  - { name: fast, provider: openAI, params: { apiKey: x } }
  - { name: smart, provider: openAI, params: { apiKey: x }, authorization: { rules: [${rule}] } }
${more}`,
  )
  return path
}

const models = ({ differences }: Said) =>
  differences.flatMap(({ kind, example: { message, identity } }) =>
    message === undefined ? [] : [`${kind} ${message.about} ${identity['apiKey']?.['team']}`],
  )

const ENG = `{ require: "apiKey.team == 'eng'" }`

describe('portcullis diff with models', () => {
  it('reports which caller newly reaches which model, with an example call', async () => {
    const both = `{ require: "apiKey.team in ['eng', 'ops']" }`
    const said = await diff(file(ENG), file(both))
    assert.deepEqual(models(said), ['admitted model smart ops'])
    const [found] = said.differences.filter(({ example }) => example.message !== undefined)
    assert.equal(JSON.parse(found?.example.message?.body ?? '{}').model, 'smart')
    assert.deepEqual(models(await diff(file(both), file(ENG))), ['refused model smart ops'])
    const { out } = await runWith(['diff', file(ENG), file(both)])
    assert.match(out, /newly admitted at .*provider smart: model smart\n/)
  })

  it('analyzes fields of calls, and rules that begin to read the model', async () => {
    const short = `{ require: "apiKey.team == 'eng' && llm.params.max_tokens < 100" }`
    assert.deepEqual(models(await diff(file(ENG), file(short))), ['refused model smart eng'])
    const named = `{ require: "apiKey.team == 'eng' && llm.requestModel == 'smart'" }`
    assert.deepEqual(models(await diff(file(ENG), file(named))), [])
  })

  it('reports model patterns, with an example name', async () => {
    const of = (rules: string) =>
      file(
        ENG,
        `  - { name: 'gpt-*', provider: openAI, params: { apiKey: x }, authorization: { rules: [${rules}] } }
  - { name: '*-mini', provider: openAI, params: { apiKey: x } }
`,
      )
    const both = `{ require: "apiKey.team in ['eng', 'ops']" }`
    const said = await diff(of(ENG), of(both))
    const [found, ...others] = models(said)
    assert.match(found ?? '', /^admitted model gpt-.* ops$/)
    assert.deepEqual(others, [])
    const [back] = models(await diff(of(both), of(ENG)))
    assert.match(back ?? '', /^refused model gpt-.* ops$/)
    // A rule that starts to distinguish names matched by the pattern.
    const named = `{ require: "apiKey.team == 'eng' && !llm.requestModel.startsWith('gpt-4')" }`
    const [four] = models(await diff(of(ENG), of(named)))
    assert.match(four ?? '', /^refused model gpt-4.* eng$/)
    assert.deepEqual(models(await diff(of(both), of(both))), [])
  })

  it('reports each target of a virtual model', async () => {
    const virtual = (routing: string, rule: string) => {
      const path = file(rule)
      appendFileSync(path, `  virtualModels: [{ name: best, routing: ${routing} }]\n`)
      return path
    }
    const both = `{ require: "apiKey.team in ['eng', 'ops']" }`
    const failover =
      '{ failover: { targets: [{ model: smart, priority: 0 }, { model: fast, priority: 1 }] } }'
    assert.deepEqual(models(await diff(virtual(failover, ENG), virtual(failover, both))), [
      'admitted model smart ops',
      'admitted model best ops',
    ])
    const weighted =
      '{ weighted: { targets: [{ model: fast, weight: 1 }, { model: smart, weight: 0 }] } }'
    assert.deepEqual(models(await diff(virtual(weighted, ENG), virtual(weighted, both))), [
      'admitted model smart ops',
    ])
    const when = `request.headers['x-tier'] == 'gold'`
    const conditional = `{ conditional: { targets: [{ model: smart, when: "${when}" }, { model: fast }] } }`
    const said = await diff(virtual(conditional, ENG), virtual(conditional, both))
    assert.deepEqual(models(said), ['admitted model smart ops', 'admitted model best ops'])
    const best = said.differences.find(({ example }) => example.message?.about === 'model best')
    assert.equal(best?.example.headers['x-tier'], 'gold')
    assert.ok(
      !said.untold.some(({ why }) => why.startsWith('calls to')),
      JSON.stringify(said.untold),
    )
  })

  it('reports models that are added and removed, for some client', async () => {
    const added = '  - { name: huge, provider: openAI, params: { apiKey: x } }\n'
    const said = await diff(file(ENG), file(ENG, added))
    assert.deepEqual(said.untold, [])
    assert.match(models(said).join(), /^admitted model huge (eng|ops)$/)
    const back = await diff(file(ENG, added), file(ENG))
    assert.deepEqual(back.untold, [])
    assert.match(models(back).join(), /^refused model huge (eng|ops)$/)
    // A name that a pattern covers already is nothing new.
    const pattern = "  - { name: '*', provider: openAI, params: { apiKey: x } }\n"
    const covered = await diff(file(ENG, pattern), file(ENG, `${pattern}${added}`))
    assert.deepEqual([covered.differences, covered.untold], [[], []])
  })

  it('reports a virtual model that hides a model of its name', async () => {
    const virtual = (name: string) =>
      `  virtualModels: [{ name: ${name}, routing: { weighted: { targets: [{ model: smart, weight: 1 }] } } }]\n`
    const pattern = "  - { name: '*', provider: openAI, params: { apiKey: x } }\n"
    const said = await diff(file(ENG, pattern), file(ENG, `${pattern}${virtual('best')}`))
    assert.deepEqual(models(said), ['refused model best ops'])
    assert.deepEqual(said.untold, [])
  })
})
