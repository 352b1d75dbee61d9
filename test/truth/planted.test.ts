import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { DRAWN_FEATURES } from '../../tools/proofs-page.ts'
import { FEATURES } from './features.ts'
import { World } from './gateways.ts'
import { type CheckName, judgeTrees, treesOf } from './judge.ts'
import { runTools, type Said, type Tools } from './tools.ts'

/** A command that makes a false statement is caught; otherwise the oracle is worthless. */

const MAX_PAIRS = 80

const said = (value: unknown, code = 0): Said => ({ code, out: JSON.stringify(value), err: '' })

const EXAMPLE = {
  listener: 'default/default',
  isConnection: false,
  method: 'GET',
  path: '/',
  query: '',
  host: 'a.test',
  headers: {},
  source: '127.0.0.1',
  identity: {},
}

const RULE = /^\s*- (?:allow|require|deny): /

function everyRule(file: string, message: string): Said {
  const lines = readFileSync(file, 'utf8').split('\n')
  const diagnostics = lines.flatMap((line, index) =>
    RULE.test(line)
      ? [{ code: 'AZ010', severity: 'warning', message, origin: { line: index + 1 } }]
      : [],
  )
  return said({ diagnostics })
}

const fileIn = (args: readonly string[]) => args.findLast((one) => one.endsWith('.yaml')) as string

async function effectiveAs(args: readonly string[], protection: string): Promise<Said> {
  const { listeners } = JSON.parse((await runTools(args)).out)
  for (const { routes } of listeners) for (const route of routes) route.protection = protection
  return said({ listeners })
}

const verdictOf = (verdict: unknown): Said =>
  said({ suites: [{ invariants: [{ answer: verdict }] }] })

const LIES: readonly (readonly [string, CheckName, string, Tools])[] = [
  [
    'diff proves everything',
    'diff',
    'diff proof',
    async () => said({ differences: [], untold: [] }),
  ],
  ['diff never fails', 'diff', 'diff exit code', async () => said({ differences: [], untold: [] })],
  [
    'diff shows an example that is none',
    'diff',
    'diff example',
    async () => {
      const place = { kind: 'admitted', listener: 'default/default', route: 'r0', services: [] }
      return said({ differences: [{ ...place, example: EXAMPLE }], untold: [] }, 1)
    },
  ],
  [
    'diff shows examples of other routes',
    'diff',
    'diff example elsewhere',
    async (args) => {
      const { code, out } = await runTools(args)
      const found = JSON.parse(out)
      for (const one of found.differences) one.route = one.route === 'r0' ? 'r1' : 'r0'
      return said(found, code)
    },
  ],
  [
    'lint calls every rule never true',
    'lint',
    'lint constant',
    async (args) => everyRule(fileIn(args), 'no request can satisfy this rule'),
  ],
  [
    'lint calls every rule always true',
    'lint',
    'lint constant',
    async (args) => everyRule(fileIn(args), 'every request satisfies this rule'),
  ],
  [
    'lint calls every rule needless',
    'lint',
    'lint redundant',
    async (args) => everyRule(fileIn(args), 'covered by `x` of `y`: this rule has no effect'),
  ],
  [
    'lint says that nothing can pass a route',
    'lint',
    'lint nothing can pass',
    async (args) =>
      everyRule(fileIn(args), 'no request is admitted at route r0: its rules deny all'),
  ],
  [
    'lint --fix takes a rule away',
    'fix',
    'lint fix',
    async (args) => {
      const file = fileIn(args)
      const text = readFileSync(file, 'utf8')
      writeFileSync(file, text.replace(/- (allow|require|deny): ".*"/, '- $1: "1 == 2"'))
      return said({})
    },
  ],
  [
    'effective calls every route guarded',
    'effective',
    'effective guarded',
    (args) => effectiveAs(args, 'guarded'),
  ],
  [
    'effective calls every route unprotected',
    'effective',
    'effective unprotected',
    (args) => effectiveAs(args, 'unprotected'),
  ],
  ['explain allows everything', 'explain', 'explain', async () => said({})],
  ['explain denies everything', 'explain', 'explain', async () => said({}, 1)],
  [
    'replay finds nothing changed',
    'replay',
    'replay unchanged',
    async () => said({ requests: 1, unchanged: 1, changed: [], unknown: [], disagreeing: 0 }),
  ],
  ['prove proves everything', 'prove', 'prove', async () => verdictOf({ kind: 'proven' })],
  [
    'prove shows an example that is none',
    'prove',
    'prove',
    async () => {
      const place = { listener: 'default/default', route: 'r0' }
      return verdictOf({ kind: 'refuted', examples: [{ ...place, example: EXAMPLE }] })
    },
  ],
  ['test passes everything', 'test', 'test passes', async () => said({})],
  ['test fails everything', 'test', 'test fails', async () => said({}, 1)],
]

/** Of messages to servers of tools. */
const LIES_ABOUT_TOOLS: readonly (readonly [string, CheckName, string, Tools])[] = [
  ...LIES.filter(([, check, kind]) => check === 'explain' || kind.startsWith('diff proof')),
  [
    'diff shows calls of other tools',
    'diff',
    'diff example',
    async (args) => {
      const { code, out } = await runTools(args)
      return { code, out: out.replaceAll(/(\\"name\\":\\")[^"\\]*/g, '$1none'), err: '' }
    },
  ],
  [
    'explain says that every tool is shown',
    'explain',
    'explain list',
    async (args) => {
      const { code, out } = await runTools(args)
      return { code, out: out.replaceAll('"state": "hidden"', '"state": "shown"'), err: '' }
    },
  ],
]

describe('a command that makes a false statement', () => {
  let world: World
  before(async () => {
    world = await World.open()
  })
  after(() => world.close())

  for (const [area, lies] of [
    [undefined, LIES],
    ['MCP', LIES_ABOUT_TOOLS],
  ] as const) {
    for (const [name, check, kind, tools] of lies) {
      it(`${name}: it is caught${area === undefined ? '' : ` in files of ${area}`}`, async () => {
        for (let seed = 1; seed <= MAX_PAIRS; seed++) {
          const options = { world, tools, count: () => {}, only: [check] }
          const { claims } = await judgeTrees(seed, treesOf(seed, world, area), options)
          if (claims.some((one) => one.kind === kind)) return
        }
        assert.fail(`nothing was noticed in ${MAX_PAIRS} pairs`)
      })
    }
  }
})

it('the page about proofs lists exactly the drawn features', () => {
  assert.deepEqual(Object.keys(DRAWN_FEATURES).sort(), Object.keys(FEATURES).sort())
})
