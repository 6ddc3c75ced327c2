// The side of a model that lives in the page: it sees the page's elements in a world of its own. What it returns is data.
(() => {
	let sel = {}; // selectors, by what they are for
	let before = null; // the answers that stood there when a prompt was sent
	let told = ''; // the text that was returned last

	const all = (s) => (s ? [...document.querySelectorAll(s)] : []);
	const shown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';
	const first = (s) => all(s).find(shown) || null;
	const off = (e) => e.disabled === true || e.getAttribute('aria-disabled') === 'true';
	const field = (e) => e instanceof HTMLTextAreaElement || e instanceof HTMLInputElement;
	const held = (e) => (field(e) ? e.value : e.innerText);
	const plain = (s) => s.replace(/[\s\u200b\ufeff]+/g, '');
	// holds reports whether the prompt field holds the text, but for white space, which editors change.
	const holds = (text) => {
		const e = first(sel.prompt);
		return !!e && plain(held(e)) === plain(text);
	};
	const bytes = (s) => new TextEncoder().encode(s).length;

	// Text out of elements ------------------------------------------------------------------------------------------------

	const skipped = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT', 'BUTTON', 'SVG', 'SELECT', 'TEXTAREA', 'IFRAME', 'OBJECT', 'HEAD', 'CANVAS', 'VIDEO', 'AUDIO']);
	const leaves = new Set(['PRE', 'UL', 'OL', 'TABLE', 'BLOCKQUOTE', 'HR', 'H1', 'H2', 'H3', 'H4', 'H5', 'H6']);
	const marks = { STRONG: '**', B: '**', EM: '*', I: '*', DEL: '~~', S: '~~', STRIKE: '~~' };

	// What is asked of the style engine is most of the time that a long answer takes, so it is asked only about elements that may
	// be anything. The others are what they are by their names, and hidden ones among them are rare enough to do without.
	const words = new Set(['STRONG', 'B', 'EM', 'I', 'DEL', 'S', 'STRIKE', 'A', 'CODE', 'BR', 'IMG', 'KBD', 'SAMP', 'TT', 'SUB', 'SUP']);
	const display = (e) => (words.has(e.tagName) ? 'inline' : leaves.has(e.tagName) || e.tagName === 'P' ? 'block' : getComputedStyle(e).display);
	const keeps = (e) => /^(pre|break-spaces)/.test(getComputedStyle(e).whiteSpace);
	const lines = (d) => /^(block|flex|grid|table-row|list-item)/.test(d);
	const skip = (e) =>
		skipped.has(e.tagName.toUpperCase()) || e.hidden || e.getAttribute('aria-hidden') === 'true' || (sel.ignore && e.matches(sel.ignore));

	// exact returns the text of code: white space as it is, lines where the page has elements for them. Elements next to each other
	// are all like the first.
	function exact(e) {
		let s = '';
		let own = null;
		for (const n of e.childNodes) {
			if (n.nodeType === Node.TEXT_NODE) s += n.data;
			else if (n.nodeType !== Node.ELEMENT_NODE || skip(n)) continue;
			else if (n.tagName === 'BR') s += '\n';
			else {
				if (own === null || n.tagName !== 'SPAN') own = lines(display(n));
				if (own && s && !s.endsWith('\n')) s += '\n';
				s += n.firstElementChild ? exact(n) : n.textContent;
				if (own && n.nextSibling && !s.endsWith('\n')) s += '\n';
			}
		}
		return s;
	}

	// fenceOf returns a run of back-ticks that is longer than any in a text.
	function fenceOf(s, least) {
		let n = least - 1;
		for (const run of s.match(/`+/g) || []) n = Math.max(n, run.length);
		return '`'.repeat(n + 1);
	}

	function language(pre, code) {
		for (const e of [code, pre, pre.parentElement]) {
			if (!e) continue;
			const given = e.getAttribute('data-language') || e.getAttribute('data-lang');
			if (given) return given;
			const m = /(?:^|\s)(?:language|lang|highlight-source)-([^\s]+)/.exec(e.getAttribute('class') || '');
			if (m) return m[1];
		}
		const m = /(?:^|\s)hljs\s+([\w+#.-]+)/.exec((code || pre).getAttribute('class') || '');
		if (m) return m[1];
		// A head above the code that is one word.
		const head = code && code !== pre ? [...pre.childNodes].filter((n) => n !== code && !n.contains(code)) : [];
		const word = head.map((n) => (n.nodeType === Node.ELEMENT_NODE && skip(n) ? '' : exact2(n))).join('').trim();
		return /^[A-Za-z][\w+#.-]{0,19}$/.test(word) ? word : '';
	}
	const exact2 = (n) => (n.nodeType === Node.TEXT_NODE ? n.data : n.nodeType === Node.ELEMENT_NODE ? exact(n) : '');

	function codeBlock(e) {
		const code = e.tagName === 'CODE' ? e : e.querySelector('code') || e;
		let s = exact(code);
		if (s.endsWith('\n')) s = s.slice(0, -1);
		const lang = language(e, code);
		const fence = fenceOf(s, 3);
		const head = fence + lang + '\n';
		// A fence may still have to grow while the block does, unless its language says that no fences stand in it.
		const sure = lang && !/^(md|mdx|markdown|text|plaintext)$/i.test(lang);
		return { text: head + (s ? s + '\n' : '') + fence, safe: sure && s.includes('\n') ? head.length + s.lastIndexOf('\n') + 1 : 0 };
	}

	// A line of words is written piece by piece.
	function Line() {
		this.s = '';
		this.space = true; // the last thing written was white space, or nothing was
		this.risk = Infinity; // where the text may still be read otherwise when it goes on
	}
	Line.prototype.words = function (t, keep) {
		if (!keep) {
			t = t.replace(/[ \t\r\n\f]+/g, ' ');
			if (this.space) t = t.replace(/^ /, '');
		}
		if (!t) return;
		const m = keep ? null : /[*_`~<[\\|&$]/.exec(t);
		if (m) this.risk = Math.min(this.risk, this.s.length + m.index);
		this.s += t;
		this.space = /\s$/.test(t);
	};
	Line.prototype.raw = function (t) {
		if (!t) return;
		this.s += t;
		this.space = false;
	};
	// around writes what f does between marks, with white space at its ends outside of them.
	Line.prototype.around = function (mark, f) {
		const start = this.s.length;
		f();
		const inner = this.s.slice(start);
		const core = inner.trim();
		if (!core) return;
		const at = inner.indexOf(core);
		this.s = this.s.slice(0, start) + inner.slice(0, at) + mark + core + mark + inner.slice(at + core.length);
	};

	function inline(line, n, keep) {
		if (n.nodeType === Node.TEXT_NODE) {
			line.words(n.data, keep);
			return;
		}
		if (n.nodeType !== Node.ELEMENT_NODE) return;
		const start = line.s.length;
		const tag = n.tagName.toUpperCase();
		if (tag === 'ANNOTATION' && n.getAttribute('encoding') === 'application/x-tex') return line.raw('$' + n.textContent.trim() + '$');
		const tex = tag === 'MATH' && n.querySelector('annotation[encoding="application/x-tex"]');
		if (tex) return inline(line, tex, keep);
		if (tag === 'INPUT' && n.type === 'checkbox') {
			line.raw(n.checked ? '[x]' : '[ ]');
			return;
		}
		if (skip(n) || display(n) === 'none') return;
		const inner = () => n.childNodes.forEach((c) => inline(line, c, keep));
		if (tag === 'BR') {
			line.s = line.s.replace(/ +$/, '') + '\n';
			line.space = true;
		} else if (tag === 'CODE' || tag === 'KBD' || tag === 'SAMP' || tag === 'TT') {
			const s = exact(n);
			if (!s) return;
			const f = fenceOf(s, 1);
			const pad = s.startsWith('`') || s.endsWith('`') ? ' ' : '';
			line.raw(f + pad + s + pad + f);
		} else if (marks[tag]) {
			line.around(marks[tag], inner);
		} else if (tag === 'A' && n.getAttribute('href')) {
			const href = n.getAttribute('href');
			const before = line.s.length;
			inner();
			const text = line.s.slice(before);
			if (text.trim() !== href && text.trim() !== href.replace(/^mailto:/, '')) {
				line.s = line.s.slice(0, before) + '[' + text + '](' + (/[\s()]/.test(href) ? '<' + href + '>' : href) + ')';
				line.space = false;
			}
		} else if (tag === 'IMG') {
			line.raw('![' + (n.getAttribute('alt') || '') + '](' + (n.getAttribute('src') || '') + ')');
		} else {
			inner();
			return;
		}
		if (!n.nextSibling) line.risk = Math.min(line.risk, start); // the element may still grow
	}

	// blocks returns the blocks of an element, in order: their text, and how much of it stays as it is if the last one grows.
	function blocks(e) {
		const list = [];
		const keep = keeps(e);
		let line = new Line();
		const flush = () => {
			const s = keep ? line.s : line.s.trim();
			if (s.trim()) list.push({ text: s, safe: keep ? s.length : settled(s, line.risk), words: true });
			line = new Line();
		};
		for (const n of e.childNodes) {
			if (n.nodeType === Node.TEXT_NODE) {
				inline(line, n, keep);
				continue;
			}
			if (n.nodeType !== Node.ELEMENT_NODE || skip(n)) continue;
			const d = display(n);
			if (d === 'none') continue;
			if (n.tagName === 'CODE' && /\n/.test(n.textContent) && keeps(n)) {
				flush();
				list.push(codeBlock(n)); // a block of code that stands in no pre element
			} else if (d.startsWith('inline') || d.startsWith('ruby') || (d === 'contents' && !n.querySelector('p, div, pre, ul, ol, table'))) {
				inline(line, n, keep);
			} else {
				flush();
				if (leaves.has(n.tagName)) list.push(leaf(n));
				else list.push(...blocks(n));
			}
		}
		flush();
		return list.filter((b) => b.text);
	}

	// settled returns how much of a paragraph that still grows can no longer become something else: whole words, up to the first
	// sign that may begin markup. A line that begins like a list or a heading may become one.
	function settled(s, risk) {
		let n = Math.min(s.length, risk);
		const last = s.lastIndexOf('\n', n - 1) + 1;
		if (/^\s*([#>=+-]|\d+[.)])/.test(s.slice(last))) n = Math.min(n, last);
		return s.slice(0, n).search(/\s\S*$/) + 1;
	}

	const joined = (list) => list.map((b) => b.text).join('\n\n');
	const indented = (s, by) => s.replace(/\n(?=[^\n])/g, '\n' + by);

	function leaf(e) {
		const tag = e.tagName;
		if (tag === 'PRE') return codeBlock(e);
		if (tag === 'HR') return { text: '---', safe: 0 };
		if (tag === 'UL' || tag === 'OL') return itemList(e, tag === 'OL');
		if (tag === 'TABLE') return table(e);
		if (tag === 'BLOCKQUOTE') return { text: joined(blocks(e)).replace(/^/gm, '> ').replace(/^> $/gm, '>'), safe: 0 };
		const line = new Line();
		e.childNodes.forEach((n) => inline(line, n, false));
		const s = line.s.trim().replace(/\n/g, ' ');
		return { text: s && '#'.repeat(+tag[1]) + ' ' + s, safe: 0 };
	}

	function itemList(e, ordered) {
		let number = ordered ? parseInt(e.getAttribute('start') || '1', 10) : 0;
		let s = '';
		let safe = 0;
		for (const item of e.children) {
			if (skip(item)) continue;
			const mark = ordered ? number++ + '. ' : '- ';
			let text = '';
			let words = false;
			for (const b of blocks(item)) {
				if (text) text += words && b.words ? '\n\n' : '\n';
				text += b.text;
				words = b.words;
			}
			if (s) s += '\n';
			safe = s.length;
			s += mark + indented(text, ' '.repeat(mark.length));
		}
		return { text: s, safe };
	}

	function table(e) {
		const rows = [...e.rows].map((row) =>
			[...row.cells].map((cell) => blocks(cell).map((b) => b.text).join(' ').replace(/\n/g, ' ').replace(/\|/g, '\\|')),
		);
		if (!rows.length) return { text: '', safe: 0 };
		const width = Math.max(...rows.map((r) => r.length));
		const write = (cells) => '| ' + [...cells, ...Array(width - cells.length).fill('')].join(' | ') + ' |';
		const lines = [write(rows[0]), '|' + ' --- |'.repeat(width), ...rows.slice(1).map(write)];
		const last = lines[lines.length - 1];
		const text = lines.join('\n');
		return { text, safe: rows.length > 1 ? text.length - last.length : 0 };
	}

	function markdown(e) {
		const list = blocks(e);
		const text = joined(list);
		if (!list.length) return { text, safe: 0 };
		const last = list[list.length - 1];
		return { text, safe: text.length - last.text.length + last.safe };
	}

	// What the model asks -------------------------------------------------------------------------------------------------

	const mine = (e) => e.id || e.getAttribute('data-message-id') || e.getAttribute('data-id') || e.getAttribute('data-testid') || '';
	const newest = () => all(sel.answer).pop() || null;

	return {
		use(selectors) {
			sel = selectors;
			for (const name of Object.keys(sel)) {
				try {
					if (sel[name]) document.querySelector(sel[name]);
				} catch {
					return name;
				}
			}
			return '';
		},
		look() {
			const p = first(sel.prompt);
			const s = first(sel.send);
			return {
				login: !!first(sel.login), prompt: !!p, empty: !!p && !held(p).trim(), send: !!s, ready: !!s && !off(s),
				stop: !!first(sel.stop), chat: !!first(sel.new_chat), title: document.title, url: location.href.replace(/[?#].*/, ''),
			};
		},
		press(name) {
			const e = first(sel[name]);
			if (!e || off(e)) return false;
			e.click();
			return true;
		},
		// mark remembers what stands there, so that an answer to come is known.
		mark() {
			const list = all(sel.answer);
			const last = list[list.length - 1];
			before = { set: new WeakSet(list), id: last ? mine(last) : '', text: last ? markdown(last).text : '', had: !!last };
			told = '';
		},
		// focus empties the prompt field and puts the cursor there.
		focus() {
			const e = first(sel.prompt);
			if (!e) return false;
			e.focus();
			if (field(e)) e.select();
			else getSelection().selectAllChildren(e);
			if (held(e).trim()) document.execCommand('delete');
			return true;
		},
		holds,
		// send presses the button if the prompt field still holds the text, which a page that is being made may have thrown away since it was looked at.
		send(text) {
			if (!holds(text)) return { held: false, pressed: false };
			const e = first(sel.send);
			const pressed = !!e && !off(e);
			if (pressed) e.click();
			return { held: true, pressed };
		},
		// read returns what has changed of the newest answer: how many bytes are still as they were, and what follows them.
		// Settled says that no more is to come, so that an answer that is like the one before is one.
		read(settled) {
			const e = newest();
			const r = { there: false, marked: !!before, keep: bytes(told), tail: '', safe: 0, stop: !!first(sel.stop), login: !!first(sel.login), done: false, like: false };
			if (!e || !before || before.set.has(e)) return r;
			let { text, safe } = markdown(e);
			r.like = before.had && text === before.text && (!mine(e) || mine(e) === before.id);
			if (r.like && !settled) return r;
			r.there = true;
			text = text.toWellFormed();
			let n = 0;
			const most = Math.min(text.length, told.length);
			while (n < most && text.charCodeAt(n) === told.charCodeAt(n)) n++;
			const high = (i) => i > 0 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800;
			if (high(n)) n--;
			if (high(safe)) safe--;
			r.keep = bytes(text.slice(0, n));
			r.tail = text.slice(n);
			r.safe = bytes(text.slice(0, safe));
			r.done = all(sel.done).some((d) => e.contains(d) || e.compareDocumentPosition(d) & Node.DOCUMENT_POSITION_FOLLOWING);
			told = text;
			return r;
		},
	};
})()
