import type { Task } from './task.ts'

/** The check, its place in the list of checks, and its message. */
export const lintCheck: Task = {
  row: 'a lint check, with its message',
  marker: 'AZ099',
  newFiles: {},
  edits: {
    'src/analysis/lint/checks/cors.ts': [
      {
        before: 'function isAnyOrigin(',
        added: `/** AZ099: one page is as good as another on the same machine. */
export const localOrigins: Check = function* ({ model }) {
  for (const { policies } of layersOf(model)) {
    for (const { value, origin } of policies.filter(isCors)) {
      if (!value.allowOrigins.includes('http://localhost')) continue
      const message = 'pages of any local server can read the responses'
      const hint = 'remove \`http://localhost\` from \`allowOrigins\`'
      yield { diagnostic: { code: 'AZ099', severity: 'warning', message, hint, origin } }
    }
  }
}
`,
      },
    ],
    'src/analysis/lint/index.ts': [
      {
        was: "import { openOrigins, preflightHeaders } from './checks/cors.ts'",
        now: "import { localOrigins, openOrigins, preflightHeaders } from './checks/cors.ts'",
      },
      { was: ',\n]', now: ',\n  localOrigins,\n]' },
    ],
    'src/diagnostics/codes/lint-texts.ts': [
      {
        before: "  {\n    code: 'AZ022',",
        added: `  {
    code: 'AZ099',
    severity: 'warning',
    title: 'local pages can read responses',
    explanation:
      'Any program on the machine of the user can serve pages from \`http://localhost\`, and with this origin in ' +
      '\`allowOrigins\` all of them can read what the gateway responds. Remove it outside of development.',
    example: {
      language: 'yaml',
      wrong: corsRoute('allowMethods: [GET]', 'method: GET', 'http://localhost'),
      right: corsRoute('allowMethods: [GET]', 'method: GET'),
    },
  },`,
      },
    ],
  },
  generated: ['docs/errors/AZ099.md', 'docs/errors/README.md'],
  trial: `import { lint } from './src/analysis/lint/lint.ts'
import { modelOf } from './test/program/models.ts'
const cors = { allowOrigins: ['http://localhost'] }
const found = lint(modelOf({ routes: [{ policies: { cors } }] }))
export const result = found.map(({ diagnostic: { code, message } }) => [code, message])
`,
  expected: [['AZ099', 'pages of any local server can read the responses']],
  tests: ['src/diagnostics/catalogue.test.ts', 'test/lint-examples.test.ts'],
}
