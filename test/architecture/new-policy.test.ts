import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

/*
 * What ARCHITECTURE.md says of adding a policy, tried: a folder of its own, its record in the list
 * of schemas, its place in the order of execution; whatever else is to know of it, its record says.
 */

const ROOT = join(import.meta.dirname, '../..')
const COPIED = 'src test tools ui site proto docs charts examples bin ARCHITECTURE.md'.split(' ')
const SET_UP = ['package.json', 'tsconfig.json']

const FOLDER: Readonly<Record<string, string>> = {
  'schema.ts': `import * as z from 'zod'

export const tagRequests = z
  .strictObject({ tag: z.string().min(1).max(64).describe('The value of the header.') })
  .describe('Sends a tag along with each request.')

export type TagRequests = z.output<typeof tagRequests>
`,
  'compile.ts': `import { headerEdit } from '../../exchange/header-edit.ts'
import type { Attachments, Part } from '../define.ts'
import type { TagRequests } from './schema.ts'

export function compileTagRequests([{ value }]: Attachments<TagRequests>): Part {
  const edit = headerEdit({ set: [{ name: 'x-tag', value: value.tag }] })
  return {
    step: (exchange) => {
      exchange.requestEdit = edit
      return undefined
    },
  }
}
`,
  'index.ts': `import { definePolicy } from '../define.ts'
import { compileTagRequests } from './compile.ts'
import { tagRequests as schema } from './schema.ts'

export const tagRequests = definePolicy({ kind: 'tagRequests', schema, compile: compileTagRequests })
`,
}

/** What is added before a line of a file that was there: an import, and one line of its list. */
const EDITS: Readonly<Record<string, readonly (readonly [before: string, added: string])[]>> = {
  'src/policies/schema.ts': [
    [
      "import { tcp } from './tcp/schema.ts'",
      "import { tagRequests } from './tag-requests/schema.ts'",
    ],
    [
      "  define('urlRewrite'",
      "  define('tagRequests', TRAFFIC, tagRequests, { isForForwarding: true }),",
    ],
  ],
  'src/policies/index.ts': [
    [
      "import { timeout } from './timeout/index.ts'",
      "import { tagRequests } from './tag-requests/index.ts'",
    ],
    ['  urlRewrite,', '  tagRequests,'],
  ],
}

/** What `npm run golden` writes for it. */
const GENERATED = [
  'charts/portcullis-crds/templates/portcullis.dev_proxypolicies.yaml',
  'docs/reference/config.schema.json',
  'docs/reference/configuration.md',
  'docs/reference/resources.md',
]

/** Those that look at every policy there is. */
const TESTS = [
  'src/policies/index.test.ts',
  'src/policies/schema.test.ts',
  'tools/crds/definitions.test.ts',
  'test/architecture.test.ts',
  'test/unread-settings.test.ts',
]

/** Asks the copy what becomes of a request, and of a policy that could do nothing. */
const TRIAL = `import { decide, programOf } from './test/program/models.ts'
import { modelOf } from './test/program/models.ts'
import { shadowedPolicies } from './src/reach/shadowed-policies.ts'
const policies = { tagRequests: { tag: 'red' } }
const { exchange } = await decide(programOf({ routes: [{ policies }] }))
const silent = { ...policies, directResponse: { status: 204 } }
const [said] = shadowedPolicies(modelOf({ routes: [{ policies: silent }] }))
console.log(JSON.stringify([exchange.requestEdit.added, said?.message]))
`

async function withCopy(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'new-policy-'))
  try {
    for (const one of [...COPIED, ...SET_UP]) {
      await cp(join(ROOT, one), join(folder, one), { recursive: true })
    }
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    await work(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function plant(folder: string): Promise<void> {
  const own = join(folder, 'src/policies/tag-requests')
  await mkdir(own)
  for (const [name, text] of Object.entries(FOLDER)) await writeFile(join(own, name), text)
  for (const [path, edits] of Object.entries(EDITS)) {
    let text = await readFile(join(folder, path), 'utf8')
    for (const [before, added] of edits) {
      assert.ok(text.includes(before), `${path}: ${before}`)
      text = text.replace(before, () => `${added}\n${before}`)
    }
    await writeFile(join(folder, path), text)
  }
}

describe('a new policy', () => {
  it('is a folder, a line in each of the two lists, and what is generated', async () => {
    await withCopy(async (folder) => {
      await plant(folder)
      const run = async (file: string, ...args: readonly string[]) => {
        const { stdout } = await promisify(execFile)(file, args, { cwd: folder })
        return stdout
      }
      await run(join(ROOT, 'node_modules/.bin/tsc'), '-p', folder)
      const golden = await run(process.execPath, 'tools/golden.ts')
      const written = golden.split('\n').flatMap((line) => /^\w+: (.+)/.exec(line)?.[1] ?? [])
      assert.deepEqual(written.toSorted(), GENERATED)
      await writeFile(join(folder, 'trial.ts'), TRIAL)
      assert.deepEqual(JSON.parse(await run(process.execPath, 'trial.ts')), [
        [['x-tag', 'red']],
        '`tagRequests` has no effect: `directResponse` responds to every request first',
      ])
      // They fail by their exit code.
      await run(process.execPath, '--test', '--test-isolation=none', ...TESTS)
    })
  })
})
