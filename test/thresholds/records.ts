import type { Group } from './threshold.ts'

export const RECORDS: readonly Group[] = [
  {
    name: 'records',
    tests: ['src/telemetry/{log,metrics,exposition-text}.test.ts'],
    except: ['is generated lazily, in pieces'],
    thresholds: [
      {
        file: 'src/telemetry/exposition-text.ts',
        tests: ['piece.length < PIECE'],
        switches: 'one piece → several',
      },
      {
        file: 'src/telemetry/log-text.ts',
        tests: ['names.size < REMEMBERED'],
        switches: 'names are kept → written again',
      },
      {
        file: 'src/telemetry/metrics.ts',
        tests: ['labels.reduce((all, { values }) => all * values.length, 1) > FEW'],
        switches: 'all series at 0 → when they happen',
      },
    ],
  },
]
