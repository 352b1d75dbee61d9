import { defineCommand } from './define.ts'
import { readArgs } from './read-args.ts'
import { serveFile } from './run.ts'
import { demoFile } from './run-options.ts'

export const demo = defineCommand({
  name: 'demo',
  summary: 'serve an example configuration with an example backend',
  help: `portcullis demo

Serves an example configuration on port 4000, with a backend that echoes requests, a model
and an MCP server that need no account, and the Admin UI on port 15000. Changes that are
made with the admin API are stored in an embedded PostgreSQL server, in the folder that
PORTCULLIS_DATA specifies (default: the data folder of the user).

Exit code: 0 after a signal, 1 if it cannot start, 2 for a usage error.`,
  run: async (args, terminal) => {
    readArgs({ args: [...args], options: {} })
    return serveFile({ file: demoFile(), isStrict: true, controller: undefined }, terminal)
  },
})
