import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { findAnnotated } from '../../policies/schema.ts'
import type { NamedFiles } from './named-files.ts'
import { readDocument } from './read.ts'
import { fileSchema } from './schema.ts'
import { checkParts } from './to-model.ts'

/* What an editor in a browser needs of the reader of the file. */

export { type FormHint, formJsonSchema } from './json-schema.ts'

/**
 * All diagnostics of the parts of a text on their own. Neither variables nor the files that it
 * names are available to an editor.
 */
export function checkText(text: string, file: string): readonly Diagnostic[] {
  const options = { file, environment: undefined, how: 'whole' } as const
  const { value, diagnostics } = readDocument(text, options)
  return value === undefined ? diagnostics : checkParts(value, NO_FILES)
}

const NO_FILES: NamedFiles = {
  read: () => undefined,
  textOf: () => undefined,
  secretOf: () => undefined,
  list: () => [],
}

/** The paths of values that must not be shown, in a configuration that may be incomplete. */
export function secretPaths(configuration: unknown): readonly (readonly PropertyKey[])[] {
  return findAnnotated(fileSchema, configuration)
    .filter(({ annotation: { is } }) => is === 'secret' || is === 'credential')
    .map(({ path }) => path)
}
