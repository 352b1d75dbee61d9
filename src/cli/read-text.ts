import { readFileSync } from 'node:fs'
import { sentenceOf } from '../diagnostics/system-error.ts'
import { InputError } from './define.ts'

export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new InputError(`cannot read ${file}: ${sentenceOf(error)}`)
  }
}
