// Writes internal/trace/price/prices.json.gz from the npm package with prices that the
// argument names, unpacked, and its date: node .ci/prices.mjs DIR YYYY-MM-DD
import { readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import vm from 'node:vm'

const [dir, date] = process.argv.slice(2)
const { name, version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))

// The package exports functions only; the data is the literal of an array.
const code = readFileSync(join(dir, 'dist/index.cjs'), 'utf8')
const start = code.indexOf('[{id:"anthropic"')
let depth = 0, quote = '', end = start
do {
  const c = code[end++]
  if (quote) {
    if (c === '\\') end++
    else if (c === quote) quote = ''
  } else if ('"\'`'.includes(c)) quote = c
  else if ('[{'.includes(c)) depth++
  else if (']}'.includes(c)) depth--
} while (depth > 0)
const data = vm.runInNewContext('(' + code.slice(start, end) + ')')

// The expressions that Go's package regexp does not have, as patterns.
const lookaheads = {
  '^(?!.*-[tT][tT][sS](?:$|-))': [['!*-tts*']],
  '^(?![^/]+/)(?:labs-)?(?:(?:mi|code|dev|magi|mini)stral|mixtral|pixtral|voxtral|open-(?:mistral|mixtral))':
    [['/^(labs-)?((mi|code|dev|magi|mini)stral|mixtral|pixtral|voxtral|open-(mistral|mixtral))/']],
}

// patterns returns alternatives: lists of patterns that must all match. Case does
// not count.
function patterns(m) {
  if (!m) return []
  let [[kind, value]] = Object.entries(m)
  if (typeof value === 'string' && kind !== 'regex') value = value.toLowerCase()
  switch (kind) {
    case 'equals': return [[value]]
    case 'starts_with': return [[value + '*']]
    case 'ends_with': return [['*' + value]]
    case 'contains': return [['*' + value + '*']]
    case 'or': return value.flatMap(patterns)
    case 'and': return value.map(patterns).reduce((a, b) => a.flatMap(x => b.map(y => [...x, ...y])))
    case 'regex': return lookaheads[value] ?? [['/' + value + '/']]
  }
  throw new Error('unknown match: ' + JSON.stringify(m))
}

const members = { input: 'input_mtok', output: 'output_mtok', cacheRead: 'cache_read_mtok', cacheWrite: 'cache_write_mtok', cacheWrite1h: 'cache_write_1h_mtok', reasoning: 'output_reasoning_mtok' }

// rates returns the prices of tokens, without those of a long context, and those
// of each longer context.
function rates(p) {
  const at = above => Object.fromEntries(Object.entries(members).filter(([, k]) => p[k] !== undefined).map(([name, k]) => {
    const v = p[k]
    if (typeof v === 'number') return [name, v]
    return [name, v.tiers.filter(t => t.start <= above).reduce((a, t) => t.price, v.base)]
  }))
  const starts = [...new Set(Object.values(members).flatMap(k => p[k]?.tiers?.map(t => t.start) ?? []))].sort((a, b) => a - b)
  const result = at(-1)
  if (starts.length) result.tiers = starts.map(above => ({ above, ...at(above) }))
  return result
}

function conditional(prices) {
  return (Array.isArray(prices) ? prices : [{ prices }]).map(({ constraint: c, prices }) => {
    const when = c?.type === 'start_date' ? { from: c.start_date } : c?.type === 'time_of_date' ? { after: c.start_time.slice(0, 5), before: c.end_time.slice(0, 5) } : {}
    return { ...when, ...rates(prices) }
  })
}

// A model that costs something besides tokens, or whose tokens are free, is left out.
const sold = m => JSON.stringify(m.prices).includes('input_mtok') && !JSON.stringify(m.prices).includes('requests_kcount')

const providers = data.map(p => ({
  id: p.id, provider: patterns(p.provider_match), model: patterns(p.model_match), fallback: p.fallback_model_providers,
  models: p.models.filter(sold).map(m => ({ id: m.id, match: patterns(m.match), prices: conditional(m.prices) })),
}))
writeFileSync('internal/trace/price/prices.json.gz', gzipSync(JSON.stringify({ source: `npm ${name} ${version}`, date, licence: license, providers }), { level: 9 }))
