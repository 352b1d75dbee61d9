import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Generator } from '../generated.ts'
import { renderReadme } from './readme.ts'
import type { Shape } from './shapes.ts'
import { renderValuesSchema } from './values-schema.ts'
import { controlPlaneShape, noValues, standaloneShape } from './values-shapes.ts'

const CHARTS: Readonly<Record<string, Shape>> = {
  portcullis: controlPlaneShape,
  'portcullis-standalone': standaloneShape,
  'portcullis-crds': noValues,
}

/** Generates the values schema of each chart and the table of values in its README. */
export const chartFiles: Generator = {
  name: 'chart files',
  folders: [],
  generate: (root) =>
    new Map(
      Object.entries(CHARTS).flatMap(([chart, shape]) => {
        const read = (file: string) => readFileSync(join(root, 'charts', chart, file), 'utf8')
        const values = read('values.yaml')
        const files: [string, string][] = [
          [`charts/${chart}/values.schema.json`, renderValuesSchema(chart, shape, values)],
        ]
        if (shape !== noValues) {
          files.push([`charts/${chart}/README.md`, renderReadme(read('README.md'), values)])
        }
        return files
      }),
    ),
}
