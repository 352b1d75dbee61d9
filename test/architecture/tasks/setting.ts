import type { Task } from './task.ts'

/** Its schema, its place among the settings, and the code that reads it. */
export const setting: Task = {
  row: 'a setting of `config`',
  marker: 'listenBacklog',
  newFiles: {},
  edits: {
    'src/sources/file/sections/config.ts': [
      {
        before: '  sensitiveHeaders: z\n',
        added: `  listenBacklog: z
    .int()
    .min(1)
    .max(65_535)
    .prefault(4_096)
    .describe('Connections that wait to be accepted, for each port.'),`,
      },
      {
        before: '    sensitiveHeaders: value.sensitiveHeaders',
        added: '    listenBacklog: value.listenBacklog,',
      },
    ],
    'src/model/settings.ts': [
      {
        before: '  readonly standardAttributes:',
        added: '  readonly listenBacklog: number',
      },
    ],
    'src/proxy/gateway.ts': [
      { was: '      backlog: 4_096,', now: '      backlog: settings.listenBacklog,' },
    ],
  },
  generated: ['docs/reference/config.schema.json', 'docs/reference/configuration.md'],
  isInModels: true,
  trial: `import { loadText } from './src/sources/file/load.ts'
const read = (own) => {
  const text = \`config: { listenBacklog: \${own} }\\ngateways: { default: { port: 8080 } }\\n\`
  const { settings, result } = loadText(text, 'a.yaml', { environment: {} })
  return result.diagnostics[0]?.message ?? settings?.listenBacklog
}
export const result = [read(16), read(0)]
`,
  expected: [16, '`listenBacklog` must be at least 1'],
  tests: ['test/unread-settings.test.ts', 'test/config.test.ts'],
}
