import type { Task } from './task.ts'

/** Its file, and its line in the list of commands. */
export const command: Task = {
  row: 'a command',
  marker: 'greet-reader',
  newFiles: {
    'src/cli/greet-reader.ts': `import { defineCommand } from './define.ts'
import { readArgs } from './read-args.ts'

export const greetReader = defineCommand({
  name: 'greet-reader',
  summary: 'print a greeting',
  help: \`portcullis greet-reader

Prints a greeting.

Exit code: 0, or 2 for a usage error.\`,
  run: (args, { out }) => {
    readArgs({ args: [...args], options: {} })
    out('hello\\n')
    return 0
  },
})
`,
  },
  edits: {
    'src/cli/index.ts': [
      {
        before: "import { hashKey } from './hash-key.ts'",
        added: "import { greetReader } from './greet-reader.ts'",
      },
      { before: '  hashKey,\n', added: '  greetReader,' },
    ],
  },
  generated: ['docs/reference/commands.md'],
  trial: `import { runCommand } from './src/cli/index.ts'
const said = []
const out = (text) => void said.push(text)
const terminal = { out, err: out, environment: {}, readInput: () => '', width: undefined, colour: false }
const code = await runCommand(['greet-reader'], terminal, '0')
const refused = await runCommand(['greet-reader', '--loudly'], { ...terminal, out: () => {}, err: () => {} }, '0')
export const result = [code, said, refused]
`,
  expected: [0, ['hello\n'], 2],
  tests: ['src/cli/cli.test.ts'],
}
