import { editorJsonSchema } from '../sources/file/json-schema.ts'
import { defineCommand } from './define.ts'
import { readArgs } from './read-args.ts'

export const schema = defineCommand({
  name: 'schema',
  summary: 'print the JSON Schema of configuration files, for editors',
  help: `portcullis schema

Prints the JSON Schema of configuration files. Save it and reference it in the first
line of a file to get completion and validation in editors:

  # yaml-language-server: $schema=./portcullis.schema.json`,
  run: (args, { out }) => {
    readArgs({ args: [...args] })
    out(`${JSON.stringify(editorJsonSchema(), undefined, 2)}\n`)
    return 0
  },
})
