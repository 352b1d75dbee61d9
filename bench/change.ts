import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { EDITS, ROUTES } from './change/edits.ts'
import { FORMS, PHASES, type Times } from './change/forms.ts'
import { nanoseconds, type Report } from './report.ts'

const MEASURE = fileURLToPath(import.meta.resolve('./change/measure.ts'))

/** CPU time of changing one route among thousands in a running gateway. */
export async function change(): Promise<Report> {
  const targets: Report['targets'][number][] = []
  const rows: string[][] = []
  for (const form of FORMS) {
    for (const name of Object.keys(EDITS)) {
      const args = ['--expose-gc', MEASURE, form.name, name]
      const { stdout } = await promisify(execFile)(process.execPath, args)
      const times: readonly Times[] = JSON.parse(stdout)
      const medians = PHASES.map((phase) => median(times.map((one) => one[phase])))
      const [, ...beyond] = medians
      const total = beyond.reduce((sum, own) => sum + own, 0)
      targets.push({
        what: `${form.name}: ${name}`,
        wanted: '<= 5 ms',
        measured: nanoseconds(total),
        met: total <= 5e6,
      })
      rows.push([name, form.name, ...medians.map(nanoseconds), nanoseconds(total)])
    }
  }
  return {
    intro: [
      `One of ${ROUTES.toLocaleString('en-US')} routes changes, each with a rule of its own; targets are beyond reading. A file is`,
      'read from its first line to its last; routes that are the same, on whatever lines, are not parsed again.',
      'Comparing finds what is the same in both Models. Medians of CPU time of the process, the first changes left',
      'out; RESULTS of `proxy` have the time until a changed file is in effect.',
    ],
    tables: [
      {
        title: 'CPU time of one changed route, by phase',
        columns: ['edit', 'routes', ...PHASES, 'beyond reading'],
        rows,
      },
    ],
    targets,
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
