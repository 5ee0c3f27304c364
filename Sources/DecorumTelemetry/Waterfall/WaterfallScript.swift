/// The script of the page.
enum WaterfallScript: Sendable {
    static let text = #"""

        'use strict';
        const calls = JSON.parse(document.getElementById('data').textContent);
        const [list, axis, words, status, errors] =
            ['calls', 'axis', 'words', 'status', 'errors'].map(id => document.getElementById(id));
        const parts = [...document.querySelectorAll('#keys li')].map(key => key.textContent);
        let opened = null;

        function element(name, className, text) {
            const made = document.createElement(name);
            if (className) made.className = className;
            if (text !== undefined) made.textContent = text;
            return made;
        }

        const time = milliseconds => milliseconds >= 1000
            ? (milliseconds / 1000).toFixed(2) + ' s' : milliseconds.toFixed(milliseconds < 100 ? 1 : 0) + ' ms';

        // Texts of servers become text nodes only, never markup.
        const rows = calls.map((call, index) => {
            const item = element('li');
            const button = element('button', call.isError ? 'row error' : 'row');
            button.type = 'button';
            button.setAttribute('aria-expanded', 'false');
            const title = element('span', 'title', call.title);
            title.title = call.title;
            if (call.route) title.prepend(element('b', 'route', call.route), ' ');
            const track = element('span', 'track');
            const bars = call.bars.map(([part, start, end, attempt, isFailed]) => {
                const bar = element('i', 'p' + part + (isFailed ? ' failed' : ''));
                bar.title = parts[part] + ', attempt ' + attempt + ': ' + time(end - start);
                track.append(bar);
                return bar;
            });
            button.append(title, element('span', 'outcome', call.outcome), element('span', 'time', call.time), track);
            item.append(button);
            const text = [call.title, call.route, call.outcome, call.story].join('\n').toLowerCase();
            const row = {call, index, item, button, bars, text};
            button.addEventListener('click', () => open(opened === row ? null : row));
            return row;
        });
        list.append(...rows.map(row => row.item));

        function details({call}) {
            const panel = element('div', 'details');
            panel.append(element('pre', 'story', call.story));
            const facts = element('dl');
            for (const [name, value] of call.facts) facts.append(element('dt', '', name), element('dd', '', value));
            panel.append(facts);
            const table = element('table');
            table.insertRow().append(...['Attempt', 'Part', 'From', 'Took'].map(name => element('th', '', name)));
            for (const [part, start, end, attempt, isFailed] of call.bars) {
                const values = [attempt, parts[part], time(start), time(end - start)];
                table.insertRow().append(...values.map(value => element('td', isFailed ? 'failed' : '', value)));
            }
            panel.append(table);
            const decisions = element('ol', 'decisions');
            decisions.append(...call.decisions.map(decision => element('li', '', decision)));
            if (call.decisions.length) panel.append(element('h2', '', 'Decisions'), decisions);
            return panel;
        }

        function open(row) {
            if (opened) {
                opened.item.lastChild.remove();
                opened.button.setAttribute('aria-expanded', 'false');
            }
            opened = row;
            if (row) {
                row.item.append(details(row));
                row.button.setAttribute('aria-expanded', 'true');
            }
        }

        function scale(shown) {
            const begin = shown.reduce((least, {call}) => Math.min(least, call.start), Infinity);
            const end = shown.reduce((most, {call}) => Math.max(most, call.start + call.length), 0);
            const span = Math.max(end - begin, 0.001);
            for (const {call, bars} of shown) {
                call.bars.forEach(([, from, to], index) => {
                    bars[index].style.left = 100 * (call.start - begin + from) / span + '%';
                    bars[index].style.width = 100 * (to - from) / span + '%';
                });
            }
            axis.replaceChildren(...[0, 0.25, 0.5, 0.75, 1].map(part => element('span', '', time(part * span))));
        }

        function filter() {
            const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
            const shown = rows.filter(row => {
                row.item.hidden = errors.checked && !row.call.isError || status.value && row.call.group !== status.value
                    || wanted.some(word => !row.text.includes(word));
                return !row.item.hidden;
            });
            if (shown.length) scale(shown);
            const failed = shown.filter(row => row.call.isError).length;
            document.getElementById('count').textContent =
                shown.length + ' of ' + calls.length + ' calls, ' + failed + (failed === 1 ? ' error' : ' errors');
        }

        document.getElementById('filter').addEventListener('input', filter);
        addEventListener('keydown', event => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            const isTyping = event.target.matches('input[type=search], select');
            if (event.key === '/' && !isTyping) {
                words.focus();
            } else if (event.key === 'Escape' && !isTyping) {
                open(null);
            } else if (['ArrowDown', 'ArrowUp'].includes(event.key) && !event.target.matches('select')) {
                const shown = rows.filter(row => !row.item.hidden);
                const place = shown.findIndex(row => row.item.contains(event.target));
                const next = shown[event.key === 'ArrowDown' ? place + 1 : Math.max(place - 1, 0)];
                next?.button.focus();
            } else {
                return;
            }
            event.preventDefault();
        });
        filter();

        """#
}
