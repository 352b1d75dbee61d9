import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Step {
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

/** The commands of CONTRIBUTING.md that a forge runs. */
const COMMANDS = ['npm run check', 'npm test']

describe('the checks of a forge', () => {
  it('are the commands of CONTRIBUTING.md, on GitHub', () => {
    const { steps } = parse(read('.github/workflows/check.yml')).jobs.check
    const commands = steps.flatMap(({ run }: Step) => run ?? [])
    assert.deepEqual(commands, ['npm ci', ...COMMANDS])
  })

  it('are the commands of CONTRIBUTING.md, on GitLab', () => {
    const { script } = parse(read('.gitlab-ci.yml')).check
    assert.deepEqual(script, ['npm ci --cache .npm', ...COMMANDS])
  })

  it('use the oldest Node.js that package.json allows', () => {
    const { engines } = JSON.parse(read('package.json'))
    const oldest = /^>=(\d+)$/.exec(engines.node)?.[1]
    const { steps } = parse(read('.github/workflows/check.yml')).jobs.check
    const versions = steps.flatMap((step: Step) => step.with?.['node-version'] ?? [])
    assert.deepEqual(versions, [Number(oldest)])
    assert.equal(parse(read('.gitlab-ci.yml')).check.image, `node:${oldest}`)
  })

  it('are named in CONTRIBUTING.md', () => {
    const text = read('CONTRIBUTING.md')
    for (const command of COMMANDS) assert.ok(text.includes(command), command)
  })
})
