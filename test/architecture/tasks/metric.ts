import type { Task } from './task.ts'

/** Its definition, and the code that counts it. */
export const metric: Task = {
  row: 'a metric',
  marker: 'portcullis_gateways_opened_total',
  newFiles: {},
  edits: {
    'src/telemetry/definitions/upstream.ts': [
      {
        before: 'export const UPSTREAM: MetricGroup',
        added: `export const gatewaysOpened = defineCounter({
  name: 'portcullis_gateways_opened_total',
  help: 'Gateways that were opened in this process.',
  labels: [],
})
`,
      },
      { before: '    dnsLookups,\n', added: '    gatewaysOpened,' },
    ],
    'src/proxy/gateway.ts': [
      {
        was: "import { dnsLookups } from '../telemetry/definitions/upstream.ts'",
        now: "import { dnsLookups, gatewaysOpened } from '../telemetry/definitions/upstream.ts'",
      },
      {
        before: '    const lookups = metrics.counter(dnsLookups)',
        added: '    metrics.counter(gatewaysOpened).of({}).at().inc()',
      },
    ],
  },
  generated: ['docs/reference/metrics.md'],
  trial: `import { Gateway } from './src/proxy/gateway.ts'
import { defaultSettings } from './src/sources/file/sections/config.ts'
import { createLogger } from './src/telemetry/log.ts'
import { createMetrics } from './src/telemetry/metrics.ts'
const metrics = createMetrics()
const log = createLogger({ write: () => {}, format: 'text', level: 'error' })
const gateway = new Gateway({ settings: defaultSettings(), log, metrics, reusePort: false })
await gateway.drain()
const found = [...metrics.read()].find(({ definition }) => definition.name.includes('gateways_opened'))
export const result = [...found.series].map(({ value }) => value)
`,
  expected: [1],
  tests: ['src/telemetry/catalogue.test.ts'],
}
