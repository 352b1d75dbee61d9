import type { Task } from './task.ts'

/** Its default with a comment, its schema, and the template that reads it. */
export const chartValue: Task = {
  row: 'a value of a chart',
  marker: 'minReadySeconds',
  newFiles: {},
  edits: {
    'charts/portcullis-standalone/values.yaml': [
      {
        before: '# -- The update strategy of the Deployment.',
        added:
          '# -- Seconds that a new pod must be ready before it counts as available.\nminReadySeconds: 0\n',
      },
    ],
    'tools/charts/values-shapes.ts': [
      {
        was: '\n  strategy: anyObject,',
        now: '\n  minReadySeconds: count,\n  strategy: anyObject,',
      },
    ],
    'charts/portcullis-standalone/templates/deployment.yaml': [
      {
        before: '  {{- with .Values.strategy }}',
        added: '  minReadySeconds: {{ include "portcullis.scalar" .Values.minReadySeconds }}',
      },
    ],
  },
  generated: [
    'charts/portcullis-standalone/README.md',
    'charts/portcullis-standalone/values.schema.json',
  ],
  // If helm is built, it renders the chart; the schema rejects a non-number everywhere.
  trial: `import { existsSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
const helm = process.env.HELM
const schema = JSON.parse(readFileSync('charts/portcullis-standalone/values.schema.json', 'utf8'))
const render = (value) => {
  const args = ['template', 'edge', 'charts/portcullis-standalone', '--set', \`minReadySeconds=\${value}\`]
  const { status, stdout } = spawnSync(helm, args, { encoding: 'utf8' })
  return status === 0 ? (/minReadySeconds: \\d+/.exec(stdout)?.[0] ?? 'nothing') : 'rejected'
}
const hasHelm = helm !== undefined && existsSync(helm)
const rendered = hasHelm ? [render(7), render('soon')] : ['minReadySeconds: 7', 'rejected']
export const result = [schema.properties.minReadySeconds !== undefined, ...rendered]
`,
  expected: [true, 'minReadySeconds: 7', 'rejected'],
  tests: [],
}
