import { editorJsonSchema } from '../sources/file/json-schema.ts'
import { defineCommand } from './define.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'

export const schema = defineCommand({
  name: 'schema',
  summary: 'print the JSON Schema of configuration files, for editors',
  help: `portcullis schema [--format json]

Prints the JSON Schema of configuration files. Save it and reference it in the first
line of a file to get completion and validation in editors:

  # yaml-language-server: $schema=./portcullis.schema.json

  --format json   the only format, and the default; short form: --json

Exit code: 0, or 2 for a usage error.`,
  run: (args, { out }) => {
    formatOf({ json: true, ...readArgs({ args: [...args], options: FORMAT }).values }, ['json'])
    out(`${JSON.stringify(editorJsonSchema(), undefined, 2)}\n`)
    return 0
  },
})
