import type { Task } from './task.ts'

const FOLDER = 'src/policies/tag-requests'

/** A folder of its own and its entry in the list, which declares everything else. */
export const policy: Task = {
  row: 'a policy',
  marker: 'tagRequests',
  newFiles: {
    [`${FOLDER}/schema.ts`]: `import * as z from 'zod'

export const tagRequests = z
  .strictObject({ tag: z.string().min(1).max(64).describe('The value of the header.') })
  .describe('Sends a tag along with each request.')

export type TagRequests = z.output<typeof tagRequests>
`,
    [`${FOLDER}/compile.ts`]: `import { headerEdit } from '../../exchange/header-edit.ts'
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
    [`${FOLDER}/index.ts`]: `import { definePolicy } from '../define.ts'
import { compileTagRequests } from './compile.ts'
import { tagRequests as schema } from './schema.ts'

export const tagRequests = definePolicy({ kind: 'tagRequests', schema, compile: compileTagRequests })
`,
  },
  edits: {
    'src/policies/schema.ts': [
      {
        before: "import { tcp } from './tcp/schema.ts'",
        added: "import { tagRequests } from './tag-requests/schema.ts'",
      },
      {
        before: "  define('urlRewrite'",
        added: "  define('tagRequests', TRAFFIC, tagRequests, { isForForwarding: true }),",
      },
    ],
  },
  generated: [
    'charts/portcullis-crds/templates/portcullis.dev_proxypolicies.yaml',
    'docs/reference/config.schema.json',
    'docs/reference/configuration.md',
    'docs/reference/resources.md',
    'src/policies/compilers.ts',
  ],
  // Tests the effect on a request, the message for an ineffective policy, and the order of
  // policies.
  trial: `import { decide, modelOf, programOf } from './test/program/models.ts'
import { POLICIES } from './src/policies/index.ts'
import { shadowedPolicies } from './src/reach/shadowed-policies.ts'
const policies = { tagRequests: { tag: 'red' } }
const { exchange } = await decide(programOf({ routes: [{ policies }] }))
const silent = { ...policies, directResponse: { status: 204 } }
const [said] = shadowedPolicies(modelOf({ routes: [{ policies: silent }] }))
const kinds = POLICIES.map(({ kind }) => kind)
const turn = kinds.indexOf('tagRequests')
export const result = [exchange.requestEdit.added, said?.message, kinds[turn - 1], kinds[turn + 1]]
`,
  expected: [
    [['x-tag', 'red']],
    '`tagRequests` has no effect: `directResponse` responds to every request first',
    'requestHeaders',
    'urlRewrite',
  ],
  tests: [
    'src/policies/index.test.ts',
    'src/policies/schema.test.ts',
    'tools/crds/definitions.test.ts',
    'test/unread-settings.test.ts',
  ],
}
