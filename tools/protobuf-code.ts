import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { create, fromBinary } from '@bufbuild/protobuf'
import { CodeGeneratorRequestSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { protocGenEs } from '@bufbuild/protoc-gen-es/dist/cjs/src/protoc-gen-es-plugin.js'
import type { Generator } from './generated.ts'

const FOLDER = 'src/protobuf/generated'

/** Types are stripped when the code runs, so enums must be plain objects. */
const PARAMETER = 'target=ts,import_extension=ts,erasable_syntax=true'

/**
 * Generates the code of the messages in `proto/`. buf compiles them, and the plugin is called
 * in-process: as a separate program started by buf, it takes seconds.
 */
export const protobufCode: Generator = {
  name: 'code of protobuf messages',
  folders: [FOLDER],
  generate: (root) => {
    const buf = join(root, 'node_modules/.bin/buf')
    const descriptors = execFileSync(buf, ['build', 'proto', '-o', '-'], { cwd: root })
    const { file: protoFile } = fromBinary(FileDescriptorSetSchema, descriptors)
    const fileToGenerate = protoFile.map(({ name }) => name).filter((name) => !isWellKnown(name))
    const request = { parameter: PARAMETER, protoFile, fileToGenerate }
    const { file, error } = protocGenEs.run(create(CodeGeneratorRequestSchema, request))
    if (error !== '') throw new Error(error)
    return new Map(file.map(({ name, content }) => [`${FOLDER}/${name}`, content]))
  },
}

/** The runtime includes these messages. */
function isWellKnown(name: string): boolean {
  return name.startsWith('google/protobuf/')
}
