import type { LoopTerm, Term } from '../check/term.ts'
import { local } from './inline.ts'
import { turnCost } from './metered.ts'
import type { Source } from './source.ts'

export function writeLoop(s: Source, term: LoopTerm, mode: 'value' | 'truth' | 'falsity'): string {
  s.metered = true
  const isTest = term.macro === 'all' || term.macro === 'exists'
  if (mode !== 'value' && !isTest) return `${writeLoop(s, term, 'value')}===${mode === 'truth'}`
  const { first, second } = term
  const failed = mode === 'value' ? 'undefined' : 'false'
  const locals =
    second === undefined ? [local(first.slot)] : [local(first.slot), local(second.slot)]
  const { before, each, after } = loopParts(s, term, mode)
  const run = s.innerLoop(locals, (declare) => {
    const next =
      second === undefined
        ? `${declare[0]}=a[i];`
        : `${declare[0]}=firstOf(r,a,i);${declare[1]}=secondOf(r,a,i);`
    const turn = `if((fuel.left-=${turnCost(term)})<0)return ${failed};${next}${each()}`
    return `const a=elementsOf(r);if(a===undefined)return ${failed};${before}for(let i=0;i<a.length;i++){${turn}}${after}`
  })
  return run(s.value(term.range))
}

function loopParts(s: Source, term: LoopTerm, mode: 'value' | 'truth' | 'falsity') {
  const { body, filter } = term
  switch (term.macro) {
    case 'all':
    case 'exists': {
      const decisive = term.macro === 'exists'
      if (mode === 'value') {
        const each = () =>
          `const v=${s.value(body)};if(v===${decisive})return v;if(v!==${!decisive})e=true;`
        return { before: 'let e=false;', each, after: `return e?undefined:${!decisive};` }
      }
      const wanted = mode === 'truth'
      const write = (value: boolean) => (value ? s.truth(body) : s.falsity(body))
      // Definitely decisive: at least one element is. Definitely not: every element is not.
      return wanted === decisive
        ? { before: '', each: () => `if(${write(decisive)})return true;`, after: 'return false;' }
        : {
            before: '',
            each: () => `if(!(${write(!decisive)}))return false;`,
            after: 'return true;',
          }
    }
    case 'existsOne': {
      const each = () => `const v=${s.value(body)};if(v===true)n++;else if(v!==false)e=true;`
      return { before: 'let n=0,e=false;', each, after: 'return e?undefined:n===1;' }
    }
    case 'filter': {
      const each = () =>
        `const v=${s.value(body)};if(v===true){if(!grow(l,a[i]))return undefined}else if(v!==false)return undefined;`
      return { before: 'const l=[];', each, after: 'return l;' }
    }
    case 'map':
    case 'transformList': {
      const each = () =>
        `${filtered(s, filter)}const v=${s.value(body)};if(v===undefined||!grow(l,v))return undefined;`
      return { before: 'const l=[];', each, after: 'return l;' }
    }
    case 'transformMap': {
      const key = local(term.first.slot)
      const each = () =>
        `${filtered(s, filter)}const v=${s.value(body)};if(v===undefined||!grow(l,[${key},v]))return undefined;`
      return { before: 'const l=[];', each, after: 'return endMap(l);' }
    }
    case 'transformMapEntry': {
      const each = () =>
        `${filtered(s, filter)}if(!addEntries(l,${s.value(body)}))return undefined;`
      return { before: 'const l=[];', each, after: 'return endMap(l);' }
    }
  }
}

function filtered(s: Source, filter: Term | undefined): string {
  if (filter === undefined) return ''
  return `const f=${s.value(filter)};if(f===false)continue;if(f!==true)return undefined;`
}
